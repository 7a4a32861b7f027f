import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';

/** What handlers add to the audit event of a request. */
export interface AuditTrail {
  /** Adds an annotation. The first value of a key is kept, so that later stages cannot overwrite it. `level`: minimum audit level. */
  annotate(key: string, value: string, level?: 'Request'): void;
  /** Records the object in the request body, before admission, in the version of the request. */
  requestObject(object: DeepReadonly<KubeObject>): void;
  /** Records a JSON patch. A YAML patch is omitted, because it would have to be parsed a second time. */
  requestPatch(body: Buffer): void;
}
