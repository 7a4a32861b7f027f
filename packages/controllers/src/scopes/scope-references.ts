import type { DeepReadonly, LogicalClusterName } from '@multiplane/apimachinery';
import { scopeSelector, type APIExportScope, type APIExportScopeEndpointSlice } from '@multiplane/apis';
import type { ObjectReference } from '@multiplane/client';
import type { ExportReference } from '../apis/export-reference.ts';
import { keyOf } from '../runtime/object-key.ts';

export const scopeExportReference = ({ spec }: DeepReadonly<APIExportScope>): ExportReference => spec?.export ?? {};

/** `<key>=<value>`; undefined for a selector that is not one key and value. */
export function scopeSelectorText(scope: DeepReadonly<APIExportScope>): string | undefined {
  const selector = scopeSelector(scope);
  return selector === undefined ? undefined : `${selector.key}=${selector.value}`;
}

/** Key of the scope of an endpoint slice. */
export const scopeKeyOfSlice = (
  { spec }: DeepReadonly<APIExportScopeEndpointSlice>,
  { cluster }: Pick<ObjectReference, 'cluster'>,
): string => keyOf({ cluster, namespace: '', name: spec?.scope.name ?? '' });

/** URL of a scope's virtual workspace; `base` is the virtual workspace URL of a shard. */
export const scopeUrl = (base: string, cluster: LogicalClusterName, name: string): string =>
  `${base.replace(/\/+$/, '')}/services/apiexport-scope/${cluster}/${name}`;
