import { useMemo } from 'react';
import { useParams } from 'react-router';
import type { ResourceAddress } from '../../data/api-paths.ts';
import { useCluster } from '../../hooks/use-cluster.ts';
import { useDiscovery } from '../../hooks/use-discovery.ts';
import type { ApiResource } from '../../model/discovery.ts';
import { coreGroup } from '../page-definition.ts';

/** The resource in the address of the page, in its version, and what discovery knows of it. */
export function useResource(): {
  readonly address: ResourceAddress;
  readonly resource: ApiResource | undefined;
  /** Discovery has answered. */
  readonly isKnown: boolean;
} {
  const cluster = useCluster();
  const { group: named = coreGroup, version = 'v1', resource = '' } = useParams();
  const group = named === coreGroup ? '' : named;
  const { data } = useDiscovery(cluster);
  const found = useMemo(() => {
    const served = data?.find((candidate) => candidate.group === group && candidate.resource === resource);
    return served === undefined ? undefined : { ...served, version };
  }, [data, group, version, resource]);
  return { address: { cluster, group, version, resource }, resource: found, isKnown: data !== undefined };
}
