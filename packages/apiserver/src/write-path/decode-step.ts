import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';

/**
 * The decode step of an update, a patch or an apply: returns the proposed object, given the current one (undefined: it does
 * not exist). Called again for every attempt; the write path modifies what it returns. `bytes`: the size of the body or of
 * the current object, whichever is larger.
 */
export type DecodeStep = (
  current: DeepReadonly<KubeObject> | undefined,
  bytes: number,
) => KubeObject | Promise<KubeObject>;
