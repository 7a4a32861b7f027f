import type { ResourceDefinition } from '@multiplane/apis';
import type { WriteRequest } from '../../write-path/write-request.ts';

/** What the field manager needs to know about a kind. */
export type FieldManagerKind = Pick<
  ResourceDefinition,
  'group' | 'version' | 'kind' | 'resource' | 'origin' | 'subresources' | 'conversion'
> & { readonly schema: Pick<ResourceDefinition['schema'], 'typed' | 'emptyObject'> };

/** What the field manager needs to know about a write. */
export type FieldManagerRequest = Pick<WriteRequest, 'cluster' | 'subresource' | 'fieldManager' | 'signal' | 'work'> & {
  readonly definition: FieldManagerKind;
};
