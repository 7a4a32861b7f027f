import type { DeepReadonly, KubeObject, LogicalClusterName, UserInfo } from '@multiplane/apimachinery';
import type { ResourceDefinition } from '@multiplane/apis';
import type { RequestWork } from '@multiplane/component-base';
import type { AdmissionAttributes } from '../admission/plugin.ts';
import type { StoredFields } from './stored-fields.ts';
import type { WriteRequest } from './write-request.ts';

/** What admission plugins see of a write. */
export function admissionAttributes(
  request: WriteRequest,
  operation: AdmissionAttributes['operation'],
  name: string,
  object: KubeObject | undefined,
  oldObject: DeepReadonly<KubeObject> | undefined,
): AdmissionAttributes {
  return new RequestAttributes(request, operation, name, object, oldObject);
}

/** A class because an object literal would define the getter anew for every write, at more cost than all other fields. */
class RequestAttributes implements AdmissionAttributes {
  readonly operation: AdmissionAttributes['operation'];
  readonly definition: ResourceDefinition;
  readonly subresource: string;
  readonly cluster: LogicalClusterName;
  readonly namespace: string;
  readonly name: string;
  readonly user: UserInfo;
  readonly object: KubeObject | undefined;
  readonly oldObject: DeepReadonly<KubeObject> | undefined;
  readonly storedFields: StoredFields | undefined;
  readonly options: DeepReadonly<Record<string, unknown>>;
  readonly dryRun: boolean;
  readonly keepsStatus: true | undefined;
  readonly warn: AdmissionAttributes['warn'];
  readonly annotate: AdmissionAttributes['annotate'];
  readonly #request: WriteRequest;

  constructor(
    request: WriteRequest,
    operation: AdmissionAttributes['operation'],
    name: string,
    object: KubeObject | undefined,
    oldObject: DeepReadonly<KubeObject> | undefined,
  ) {
    this.operation = operation;
    this.definition = request.definition;
    this.subresource = request.subresource;
    this.cluster = request.cluster;
    this.namespace = request.namespace;
    this.name = name;
    this.user = request.user;
    this.object = object;
    this.oldObject = oldObject;
    this.storedFields = request.storedFields;
    this.options = request.options;
    this.dryRun = request.dryRun;
    this.keepsStatus = request.keepsStatus;
    this.warn = (text) => request.warn(text);
    this.annotate = (key, value, level) => request.annotate?.(key, value, level);
    this.#request = request;
  }

  get signal(): AbortSignal {
    return this.#request.signal;
  }

  get work(): RequestWork {
    return this.#request.work;
  }
}
