/** How the end-to-end tests of a client of kcp are made. */
export interface ClientSuite {
  /** Its tests are Ginkgo specs, not functions. */
  readonly isGinkgo: boolean;
  /** The program that its tests start; compiled beside them. */
  readonly agent: string | undefined;
  /** Its tests start a kube-apiserver as the cluster of the provider. */
  readonly needsKubernetes: boolean;
  /** A regular expression for Ginkgo, of specs that one server cannot pass as they expect workspaces on two shards. */
  readonly needsShards: string | undefined;
}

/** By the name of the repository. */
export const clientSuites: Readonly<Record<string, ClientSuite>> = {
  'api-syncagent': { isGinkgo: false, agent: 'api-syncagent', needsKubernetes: true, needsShards: undefined },
  'init-agent': { isGinkgo: false, agent: 'init-agent', needsKubernetes: false, needsShards: undefined },
  'multicluster-provider': {
    isGinkgo: true,
    agent: undefined,
    needsKubernetes: false,
    needsShards: 'AggregateCache',
  },
};
