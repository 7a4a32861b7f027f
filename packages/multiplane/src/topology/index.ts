/** The processes of a sharded control plane, for scripts and end-to-end suites, which run them in other places. */
export { askHealth, healthAt } from './health.ts';
export { localPlace, preparePlace } from './local-place.ts';
export { configFiles, pkiArguments, portNames, topology, urlsOf, type ClusterProcess, type Place } from './topology.ts';
