import type { ResourceDefinition } from '@multiplane/apis';
import type { WriteRequest } from './write-request.ts';

/** What ownership has to know of a kind. */
export type FieldKind = Pick<
  ResourceDefinition,
  'group' | 'version' | 'kind' | 'resource' | 'origin' | 'subresources' | 'conversion'
> & { readonly schema: Pick<ResourceDefinition['schema'], 'typed' | 'emptyObject'> };

/** What a write tells about its writer. */
export type FieldWrite = Pick<WriteRequest, 'cluster' | 'subresource' | 'fieldManager' | 'signal'> & {
  readonly definition: FieldKind;
};
