import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';
import type { ObjectStoreModules } from '../registry/store/object-store-modules.ts';
import { admissionAttributes } from './admission-attributes.ts';
import type { WriteRequest } from './write-request.ts';

/*
 * Every create, update, patch and apply, over HTTP or by the loopback client, runs the same steps in this order:
 *
 *   1. decode     the proposed object from a body, a patch or an applied configuration      decoding/
 *   2. admit      managedFields, then mutating admission plugins and webhooks                this file
 *   3. validate   server-owned metadata, strategy hooks, validation                          before-create.ts, before-update.ts
 *   4. admit      validating admission plugins and webhooks                                  this file
 *   5. store      encode, compare and set                                                    create-object.ts, update-object.ts
 *
 * create-object.ts runs them for a new object. update-object.ts runs them for an existing one, all of them again after a
 * conflict; if the object does not exist and may be created, steps 3 to 5 are those of a create. A delete has no object to
 * decode or validate (delete-object.ts).
 *
 * Each step is a plain function of the object, or a few of them; `request.work` decides between them whether to yield.
 */

type AdmissionModules = Pick<ObjectStoreModules, 'admission' | 'fields'>;

/**
 * Step 2 for an object whose managedFields are still to be computed: ownership by comparison with `current` (undefined:
 * the object is new), then mutating admission.
 */
export async function admitMutating(
  modules: AdmissionModules,
  request: WriteRequest,
  object: KubeObject,
  current: DeepReadonly<KubeObject> | undefined,
): Promise<void> {
  await modules.fields.update(request, current, object);
  await request.work.pause();
  await admitManaged(modules, request, object, current);
}

/** Step 2 for an object whose managedFields are complete (apply, scale): mutating admission only. */
export function admitManaged(
  { admission }: Pick<AdmissionModules, 'admission'>,
  request: WriteRequest,
  object: KubeObject,
  current: DeepReadonly<KubeObject> | undefined,
): Promise<void> | undefined {
  const operation = current === undefined ? 'CREATE' : 'UPDATE';
  const name = request.name === '' ? (object.metadata.name ?? '') : request.name;
  return admission.admit(admissionAttributes(request, operation, name, object, current));
}

/** Step 4, with the object's final name. */
export function admitValidating(
  { admission }: Pick<AdmissionModules, 'admission'>,
  request: WriteRequest,
  name: string,
  object: KubeObject,
  current: DeepReadonly<KubeObject> | undefined,
): Promise<void> | undefined {
  const operation = current === undefined ? 'CREATE' : 'UPDATE';
  return admission.validate(admissionAttributes(request, operation, name, object, current));
}
