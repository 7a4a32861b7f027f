import type { DeepReadonly, KubeObject } from '@multiplane/apimachinery';

/**
 * The decode step of an update, a patch or an apply: returns the proposed object, given the current one (undefined: it does
 * not exist). Called again for every attempt; the write path modifies what it returns.
 */
export type DecodeStep = (current: DeepReadonly<KubeObject> | undefined) => KubeObject | Promise<KubeObject>;
