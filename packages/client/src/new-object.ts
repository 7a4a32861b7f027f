import type { KubeObject } from '@multiplane/apimachinery';

/** An object as clients write it: the server sets the rest of the metadata. */
export type NewObject<T> = {
  // By name, since `Omit` loses the named fields of a type that also has others.
  [Field in keyof T as Field extends 'metadata' ? never : Field]: T[Field];
} & { metadata: Omit<KubeObject['metadata'], 'uid'> };
