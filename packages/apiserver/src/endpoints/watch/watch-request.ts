import type { ListOptions, LogicalClusterName } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { Clock } from '@multiplane/component-base';
import type { Negotiated, RequestContext } from '@multiplane/generic-server';
import type { WatchCache } from '@multiplane/storage';
import type { ObjectReader } from '../../registry/store/object-reader.ts';
import type { ObjectView } from '../../registry/store/object-view.ts';
import type { ScanScope } from '../../registry/store/scan-scope.ts';
import type { WatchHub } from './watch-hub.ts';

export interface WatchModules {
  readonly cache: WatchCache;
  readonly reader: ObjectReader;
  readonly hub: WatchHub;
  readonly clock: Clock;
  /** A number from 0 to 1, which spreads the timeouts of watches that set none. */
  readonly random: () => number;
}

export interface WatchRequest {
  readonly context: RequestContext;
  readonly definition: ResourceDefinition;
  readonly cluster: LogicalClusterName | '*';
  readonly negotiated: Negotiated;
  readonly options: ListOptions;
  readonly scope: ScanScope;
  /** Converts objects before they are read; undefined: no webhook converts this kind. */
  readonly view?: ObjectView | undefined;
  /** Registers a callback for when the definition no longer serves the resource; undefined: that never happens. */
  readonly whenReplaced?: ((onReplaced: () => void) => (() => void) | undefined) | undefined;
}
