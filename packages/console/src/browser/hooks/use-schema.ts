import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { clusterPath } from '../data/api-paths.ts';
import { schemaOfKind, type OpenApiDocument, type OpenApiSchema } from '../model/openapi.ts';
import { useApp } from './app-context.ts';

export interface KindSchema {
  readonly document: OpenApiDocument;
  readonly schema: OpenApiSchema;
}

/** The schema of a kind of a workspace, from its OpenAPI document; undefined until it is there, or without one. */
export function useSchema(
  cluster: string,
  kind: { readonly group: string; readonly version: string; readonly kind: string } | undefined,
): KindSchema | undefined {
  const { api } = useApp();
  const path =
    kind === undefined ? '' : kind.group === '' ? `api/${kind.version}` : `apis/${kind.group}/${kind.version}`;
  const { data } = useQuery({
    queryKey: ['openapi', cluster, path],
    enabled: path !== '',
    queryFn: ({ signal }) => api.json<OpenApiDocument>(`${clusterPath(cluster)}/openapi/v3/${path}`, { signal }),
    staleTime: 60_000,
    retry: false,
  });
  return useMemo(() => {
    const schema = data === undefined || kind === undefined ? undefined : schemaOfKind(data, kind);
    return data === undefined || schema === undefined ? undefined : { document: data, schema };
  }, [data, kind]);
}
