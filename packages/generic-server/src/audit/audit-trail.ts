import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';

/** What handlers add to the audit event of a request. */
export interface AuditTrail {
  /** Adds an annotation. The first value of a key is kept, so that later stages cannot overwrite it. `level`: minimum audit level. */
  annotate(key: string, value: string, level?: 'Request'): void;
  /**
   * Records the object in the request body of `bytes` bytes, before admission, in the version of the request. The object must
   * not change before the promise of a large one resolves.
   */
  requestObject(object: DeepReadonly<KubeObject>, bytes: number): Promise<void> | undefined;
  /** Records a JSON patch. A YAML patch is omitted, because it would have to be parsed a second time. */
  requestPatch(body: Buffer): Promise<void> | undefined;
}
