/**
 * Tests of Kubernetes that a workspace cannot pass, whatever it answers: patterns over the name of a test, and what it needs. The
 * first that matches counts.
 */
const needs: readonly (readonly [pattern: RegExp, what: string])[] = [
  [/\[Disruptive\]|Logging soak|master upgrade/, 'a cluster that it may break'],
  [/OffByDefault|StorageVersionAPI/, 'a feature that is off by default'],
  [/Aggregator |CBOR|Aggregated APIServer/, 'an aggregated API server'],
  [
    /AggregatedDiscovery should support (raw )?aggregated discovery (interface|endpoint Accept headers)(?! for CRDs)/,
    'the group apiregistration.k8s.io',
  ],
  [/Discovery should locate the groupVersion and a resource within each APIGroup/, 'the group apiregistration.k8s.io'],
  [/AdmissionWebhook|ConversionWebhook/, 'a node, as the webhook is a pod'],
  [/Garbage collector should (delete|keep|orphan (RS|pods)|not delete dependents)/, 'the controllers of workloads'],
  [
    /pods are removed when a namespace|OrderedNamespaceDeletion|set the deletionTimestamp and deletionGracePeriod/,
    'a node',
  ],
  [/Node(Authenticator|Authorizer)|by-node|[Kk]ubelet|taint \[Serial\]/, 'a node'],
  [/ServiceAccounts .*(mount|RunAsUser|OIDC discovery|InClusterConfig)/, 'a node'],
  [
    /Port forwarding|Guestbook|Update Demo|Simple pod|Kubectl (copy|exec|logs|delete interactive)|kubectl debug/,
    'a node',
  ],
  [/Kubectl (label|patch|replace|expose|events|run pod)|rc and pods|rollout undo|cluster-info dump/, 'a node'],
  [/if the original version has been compacted away/, 'a compaction every five minutes'],
  [/componentstatuses/, 'ComponentStatus, which kcp does not serve, either'],
  [
    /requests can be classified by adding|metrics (slis )?from API server/,
    'the metrics of the server, which a workspace does not show',
  ],
  [/health handlers/, 'the health checks of a kube-apiserver by name'],
  [/CustomResourceFieldSelectors/, 'a node, as the conversion webhook is a pod'],
  [/\[Flaky\] kubectl explain/, 'luck: kubectl caches the discovery of short names'],
  [/works for CRD with validation schema/, 'descriptions in the words of Kubernetes (docs/compatibility.md)'],
  [
    /unknown and duplicate fields of a typed object/,
    'a Deployment that is compiled in: custom resources list errors in another order',
  ],
  [/pvc with different volume attributes class|2 pvcs with same volume/, 'the controller of volumes'],
  [/life of a ResourceClaim/, 'the protobuf messages of resource.k8s.io'],
  [/capture the life of a pod/, 'the validation of pods'],
  [/Proxy server should support proxy/, 'a server URL without a path'],
  [/reuse port when apply to an existing SVC/, 'the allocation of node ports'],
  [/metrics from a (ControllerManager|Scheduler)/, 'a node'],
];

/** What a test needs that a workspace does not have; undefined if it can run. */
export const missingFor = (test: string): string | undefined => needs.find(([pattern]) => pattern.test(test))?.[1];
