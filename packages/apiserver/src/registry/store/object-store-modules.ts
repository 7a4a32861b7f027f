import type { SlowChecks } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { WatchCache } from '@multiplane/storage';
import type { AdmissionChain } from '../../admission/admission-chain.ts';
import type { ProtectedFields } from '../../write-path/stored-fields.ts';
import type { WriteCapacity } from '../../write-path/write-capacity.ts';
import type { MetadataTimes } from '../codec/metadata-time.ts';
import type { FieldManager } from '../managed-fields/field-manager.ts';
import type { DecodedObjects } from './decoded-objects.ts';
import type { ObjectReader } from './object-reader.ts';

/** What reads and writes of objects work with. */
export interface ObjectStoreModules {
  readonly cache: WatchCache;
  readonly decoded: DecodedObjects;
  readonly reader: ObjectReader;
  readonly admission: AdmissionChain;
  readonly fields: FieldManager;
  readonly clock: Clock;
  /** Fields that keep their stored values; absent: none. */
  readonly protectedFields?: ProtectedFields | undefined;
  /** The current time as text for metadata. */
  readonly times: MetadataTimes;
  /** Runs validation that would block the event loop in a worker; absent: validation runs inline. */
  readonly slowly?: SlowChecks | undefined;
  /** Version 4 UUIDs. */
  readonly newUid: () => string;
  /** Largest object that is stored; 1.5 MiB when absent. */
  readonly maxObjectBytes?: number | undefined;
  /** Limits what is stored; absent: without limits. */
  readonly capacity?: WriteCapacity | undefined;
  /** An integer from 0 to below - 1, for generated names; absent: random. */
  readonly random?: ((below: number) => number) | undefined;
}
