// Made by hack/import-rbac.mjs from Kubernetes 1.36's bootstrap policy (specs: names, rules, subjects).
import type { BindingSpec, RoleSpec } from './policy-spec.ts';

export const clusterRoleSpecs: readonly RoleSpec[] = [
  { name: 'admin', aggregates: [{ 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' }] },
  {
    name: 'cluster-admin',
    rules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ],
  },
  {
    name: 'edit',
    labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' },
    aggregates: [{ 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' }],
  },
  {
    name: 'system:aggregate-to-admin',
    labels: { 'rbac.authorization.k8s.io/aggregate-to-admin': 'true' },
    rules: [
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['localsubjectaccessreviews'] },
      {
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        apiGroups: ['rbac.authorization.k8s.io'],
        resources: ['rolebindings', 'roles'],
      },
    ],
  },
  {
    name: 'system:aggregate-to-edit',
    labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
    rules: [
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: [''],
        resources: ['pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy', 'secrets', 'services/proxy'],
      },
      { verbs: ['impersonate'], apiGroups: [''], resources: ['serviceaccounts'] },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: [''],
        resources: ['pods', 'pods/attach', 'pods/exec', 'pods/portforward', 'pods/proxy'],
      },
      { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'] },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: [''],
        resources: [
          'configmaps',
          'persistentvolumeclaims',
          'replicationcontrollers',
          'replicationcontrollers/scale',
          'secrets',
          'serviceaccounts',
          'services',
          'services/proxy',
        ],
      },
      { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['', 'events.k8s.io'],
        resources: ['events'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['apps'],
        resources: [
          'daemonsets',
          'deployments',
          'deployments/rollback',
          'deployments/scale',
          'replicasets',
          'replicasets/scale',
          'statefulsets',
          'statefulsets/scale',
        ],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['autoscaling'],
        resources: ['horizontalpodautoscalers'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['batch'],
        resources: ['cronjobs', 'jobs'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['extensions'],
        resources: [
          'daemonsets',
          'deployments',
          'deployments/rollback',
          'deployments/scale',
          'ingresses',
          'networkpolicies',
          'replicasets',
          'replicasets/scale',
          'replicationcontrollers/scale',
        ],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['policy'],
        resources: ['poddisruptionbudgets'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['networking.k8s.io'],
        resources: ['ingresses', 'networkpolicies'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'patch', 'update'],
        apiGroups: ['resource.k8s.io'],
        resources: ['resourceclaims', 'resourceclaimtemplates'],
      },
    ],
  },
  {
    name: 'system:aggregate-to-view',
    labels: { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' },
    rules: [
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: [''],
        resources: [
          'configmaps',
          'endpoints',
          'persistentvolumeclaims',
          'persistentvolumeclaims/status',
          'pods',
          'replicationcontrollers',
          'replicationcontrollers/scale',
          'serviceaccounts',
          'services',
          'services/status',
        ],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: [''],
        resources: [
          'bindings',
          'limitranges',
          'namespaces/status',
          'pods/log',
          'pods/status',
          'replicationcontrollers/status',
          'resourcequotas',
          'resourcequotas/status',
        ],
      },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['namespaces'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'] },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['apps'],
        resources: [
          'controllerrevisions',
          'daemonsets',
          'daemonsets/status',
          'deployments',
          'deployments/scale',
          'deployments/status',
          'replicasets',
          'replicasets/scale',
          'replicasets/status',
          'statefulsets',
          'statefulsets/scale',
          'statefulsets/status',
        ],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['autoscaling'],
        resources: ['horizontalpodautoscalers', 'horizontalpodautoscalers/status'],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['batch'],
        resources: ['cronjobs', 'cronjobs/status', 'jobs', 'jobs/status'],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['extensions'],
        resources: [
          'daemonsets',
          'daemonsets/status',
          'deployments',
          'deployments/scale',
          'deployments/status',
          'ingresses',
          'ingresses/status',
          'networkpolicies',
          'replicasets',
          'replicasets/scale',
          'replicasets/status',
          'replicationcontrollers/scale',
        ],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['policy'],
        resources: ['poddisruptionbudgets', 'poddisruptionbudgets/status'],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['networking.k8s.io'],
        resources: ['ingresses', 'ingresses/status', 'networkpolicies'],
      },
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: ['resource.k8s.io'],
        resources: ['resourceclaims', 'resourceclaims/status', 'resourceclaimtemplates'],
      },
    ],
  },
  {
    name: 'system:auth-delegator',
    rules: [
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
    ],
  },
  {
    name: 'system:basic-user',
    rules: [
      {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    ],
  },
  {
    name: 'system:certificates.k8s.io:certificatesigningrequests:nodeclient',
    rules: [
      { verbs: ['create'], apiGroups: ['certificates.k8s.io'], resources: ['certificatesigningrequests/nodeclient'] },
    ],
  },
  {
    name: 'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    rules: [
      {
        verbs: ['create'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests/selfnodeclient'],
      },
    ],
  },
  {
    name: 'system:certificates.k8s.io:kube-apiserver-client-approver',
    rules: [
      {
        verbs: ['approve'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/kube-apiserver-client'],
      },
    ],
  },
  {
    name: 'system:certificates.k8s.io:kube-apiserver-client-kubelet-approver',
    rules: [
      {
        verbs: ['approve'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/kube-apiserver-client-kubelet'],
      },
    ],
  },
  {
    name: 'system:certificates.k8s.io:kubelet-serving-approver',
    rules: [
      {
        verbs: ['approve'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/kubelet-serving'],
      },
    ],
  },
  {
    name: 'system:certificates.k8s.io:legacy-unknown-approver',
    rules: [
      {
        verbs: ['approve'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['signers'],
        resourceNames: ['kubernetes.io/legacy-unknown'],
      },
    ],
  },
  {
    name: 'system:discovery',
    rules: [
      {
        verbs: ['get'],
        nonResourceURLs: [
          '/api',
          '/api/*',
          '/apis',
          '/apis/*',
          '/healthz',
          '/livez',
          '/openapi',
          '/openapi/*',
          '/readyz',
          '/version',
          '/version/',
        ],
      },
    ],
  },
  {
    name: 'system:heapster',
    rules: [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['events', 'namespaces', 'nodes', 'pods'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['extensions'], resources: ['deployments'] },
    ],
  },
  {
    name: 'system:kube-aggregator',
    rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['endpoints', 'services'] }],
  },
  {
    name: 'system:kube-controller-manager',
    rules: [
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      { verbs: ['create'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
      {
        verbs: ['get', 'update'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['kube-controller-manager'],
      },
      { verbs: ['create'], apiGroups: [''], resources: ['secrets', 'serviceaccounts'] },
      { verbs: ['delete'], apiGroups: [''], resources: ['secrets'] },
      { verbs: ['get'], apiGroups: [''], resources: ['configmaps', 'namespaces', 'secrets', 'serviceaccounts'] },
      { verbs: ['update'], apiGroups: [''], resources: ['secrets', 'serviceaccounts'] },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
      { verbs: ['list', 'watch'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
    ],
  },
  {
    name: 'system:kube-dns',
    rules: [{ verbs: ['list', 'watch'], apiGroups: [''], resources: ['endpoints', 'services'] }],
  },
  {
    name: 'system:kube-scheduler',
    rules: [
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      { verbs: ['create'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] },
      {
        verbs: ['get', 'list', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
        resourceNames: ['kube-scheduler'],
      },
      {
        verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leasecandidates'],
      },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['delete', 'get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['create'], apiGroups: [''], resources: ['bindings', 'pods/binding'] },
      { verbs: ['patch', 'update'], apiGroups: [''], resources: ['pods/status'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['replicationcontrollers', 'services'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['apps', 'extensions'], resources: ['replicasets'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['apps'], resources: ['statefulsets'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['policy'], resources: ['poddisruptionbudgets'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'] },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
      { verbs: ['create'], apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['csinodes'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['namespaces'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['csidrivers'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['csistoragecapacities'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['resource.k8s.io'], resources: ['deviceclasses'] },
      {
        verbs: ['get', 'list', 'patch', 'update', 'watch'],
        apiGroups: ['resource.k8s.io'],
        resources: ['resourceclaims'],
      },
      {
        verbs: ['get', 'list', 'patch', 'update', 'watch'],
        apiGroups: ['resource.k8s.io'],
        resources: ['resourceclaims/status'],
      },
      { verbs: ['update'], apiGroups: [''], resources: ['pods/finalizers'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['resource.k8s.io'], resources: ['resourceslices'] },
      { verbs: ['create', 'delete'], apiGroups: ['resource.k8s.io'], resources: ['resourceclaims'] },
      { verbs: ['patch', 'update'], apiGroups: ['resource.k8s.io'], resources: ['resourceclaims/binding'] },
    ],
  },
  {
    name: 'system:kubelet-api-admin',
    rules: [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['proxy'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['*'], apiGroups: [''], resources: ['nodes/log', 'nodes/metrics', 'nodes/proxy', 'nodes/stats'] },
      { verbs: ['*'], apiGroups: [''], resources: ['nodes/configz', 'nodes/healthz', 'nodes/pods'] },
    ],
  },
  {
    name: 'system:monitoring',
    rules: [
      {
        verbs: ['get'],
        nonResourceURLs: [
          '/flagz',
          '/healthz',
          '/healthz/*',
          '/livez',
          '/livez/*',
          '/metrics',
          '/metrics/slis',
          '/readyz',
          '/readyz/*',
          '/statusz',
        ],
      },
      { verbs: ['get'], apiGroups: [''], resources: ['nodes/metrics'] },
    ],
  },
  {
    name: 'system:node',
    rules: [
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'] },
      {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['localsubjectaccessreviews', 'subjectaccessreviews'],
      },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['services'] },
      { verbs: ['create', 'get', 'list', 'watch'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['patch', 'update'], apiGroups: [''], resources: ['nodes/status'] },
      { verbs: ['patch', 'update'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['create', 'delete'], apiGroups: [''], resources: ['pods'] },
      { verbs: ['patch', 'update'], apiGroups: [''], resources: ['pods/status'] },
      { verbs: ['create'], apiGroups: [''], resources: ['pods/eviction'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps', 'secrets'] },
      { verbs: ['get'], apiGroups: [''], resources: ['persistentvolumeclaims', 'persistentvolumes'] },
      { verbs: ['get'], apiGroups: [''], resources: ['endpoints'] },
      {
        verbs: ['create', 'get', 'list', 'watch'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests'],
      },
      {
        verbs: ['create', 'delete', 'get', 'patch', 'update'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
      },
      { verbs: ['get'], apiGroups: ['storage.k8s.io'], resources: ['volumeattachments'] },
      { verbs: ['create'], apiGroups: [''], resources: ['serviceaccounts/token'] },
      { verbs: ['get', 'patch', 'update'], apiGroups: [''], resources: ['persistentvolumeclaims/status'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['csidrivers'] },
      { verbs: ['create', 'delete', 'get', 'patch', 'update'], apiGroups: ['storage.k8s.io'], resources: ['csinodes'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'] },
      { verbs: ['get'], apiGroups: ['resource.k8s.io'], resources: ['resourceclaims'] },
      { verbs: ['deletecollection'], apiGroups: ['resource.k8s.io'], resources: ['resourceslices'] },
      { verbs: ['get'], apiGroups: [''], resources: ['serviceaccounts'] },
    ],
  },
  {
    name: 'system:node-bootstrapper',
    rules: [
      {
        verbs: ['create', 'get', 'list', 'watch'],
        apiGroups: ['certificates.k8s.io'],
        resources: ['certificatesigningrequests'],
      },
    ],
  },
  {
    name: 'system:node-problem-detector',
    rules: [
      { verbs: ['get'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['patch'], apiGroups: [''], resources: ['nodes/status'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
    ],
  },
  {
    name: 'system:node-proxier',
    rules: [
      { verbs: ['list', 'watch'], apiGroups: [''], resources: ['endpoints', 'services'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['nodes'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
      { verbs: ['list', 'watch'], apiGroups: ['networking.k8s.io'], resources: ['servicecidrs'] },
      { verbs: ['list', 'watch'], apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'] },
    ],
  },
  {
    name: 'system:persistent-volume-provisioner',
    rules: [
      { verbs: ['create', 'delete', 'get', 'list', 'watch'], apiGroups: [''], resources: ['persistentvolumes'] },
      { verbs: ['get', 'list', 'update', 'watch'], apiGroups: [''], resources: ['persistentvolumeclaims'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['storageclasses'] },
      { verbs: ['watch'], apiGroups: [''], resources: ['events'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
    ],
  },
  {
    name: 'system:public-info-viewer',
    rules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/livez', '/readyz', '/version', '/version/'] }],
  },
  {
    name: 'system:service-account-issuer-discovery',
    rules: [
      {
        verbs: ['get'],
        nonResourceURLs: [
          '/.well-known/openid-configuration',
          '/.well-known/openid-configuration/',
          '/openid/v1/jwks',
          '/openid/v1/jwks/',
        ],
      },
    ],
  },
  {
    name: 'system:volume-scheduler',
    rules: [
      { verbs: ['get', 'list', 'patch', 'update', 'watch'], apiGroups: [''], resources: ['persistentvolumes'] },
      { verbs: ['get', 'list', 'watch'], apiGroups: ['storage.k8s.io'], resources: ['storageclasses'] },
      { verbs: ['get', 'list', 'patch', 'update', 'watch'], apiGroups: [''], resources: ['persistentvolumeclaims'] },
    ],
  },
  {
    name: 'view',
    labels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' },
    aggregates: [{ 'rbac.authorization.k8s.io/aggregate-to-view': 'true' }],
  },
];

export const clusterRoleBindingSpecs: readonly BindingSpec[] = [
  {
    name: 'cluster-admin',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:masters' }],
  },
  {
    name: 'system:basic-user',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:basic-user' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
  },
  {
    name: 'system:discovery',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:discovery' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' }],
  },
  {
    name: 'system:kube-controller-manager',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kube-controller-manager' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-controller-manager' }],
  },
  {
    name: 'system:kube-dns',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kube-dns' },
    subjects: [{ kind: 'ServiceAccount', name: 'kube-dns', namespace: 'kube-system' }],
  },
  {
    name: 'system:kube-scheduler',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:kube-scheduler' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' }],
  },
  {
    name: 'system:monitoring',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:monitoring' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:monitoring' }],
  },
  { name: 'system:node', role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node' } },
  {
    name: 'system:node-proxier',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:node-proxier' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-proxy' }],
  },
  {
    name: 'system:public-info-viewer',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:public-info-viewer' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:authenticated' },
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:unauthenticated' },
    ],
  },
  {
    name: 'system:service-account-issuer-discovery',
    role: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'ClusterRole',
      name: 'system:service-account-issuer-discovery',
    },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:serviceaccounts' }],
  },
  {
    name: 'system:volume-scheduler',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:volume-scheduler' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' }],
  },
];

export const roleSpecs: readonly RoleSpec[] = [
  {
    name: 'system:controller:bootstrap-signer',
    namespace: 'kube-public',
    rules: [
      { verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] },
      { verbs: ['update'], apiGroups: [''], resources: ['configmaps'], resourceNames: ['cluster-info'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
    ],
  },
  {
    name: 'extension-apiserver-authentication-reader',
    namespace: 'kube-system',
    rules: [
      {
        verbs: ['get', 'list', 'watch'],
        apiGroups: [''],
        resources: ['configmaps'],
        resourceNames: ['extension-apiserver-authentication'],
      },
    ],
  },
  {
    name: 'system::leader-locking-kube-controller-manager',
    namespace: 'kube-system',
    rules: [
      {
        verbs: ['create', 'get', 'list', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
      },
      {
        verbs: ['create', 'get', 'list', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leasecandidates'],
      },
    ],
  },
  {
    name: 'system::leader-locking-kube-scheduler',
    namespace: 'kube-system',
    rules: [
      {
        verbs: ['create', 'get', 'list', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leases'],
      },
      {
        verbs: ['create', 'get', 'list', 'update', 'watch'],
        apiGroups: ['coordination.k8s.io'],
        resources: ['leasecandidates'],
      },
    ],
  },
  {
    name: 'system:controller:bootstrap-signer',
    namespace: 'kube-system',
    rules: [{ verbs: ['get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'] }],
  },
  {
    name: 'system:controller:cloud-provider',
    namespace: 'kube-system',
    rules: [{ verbs: ['create', 'get', 'list', 'watch'], apiGroups: [''], resources: ['configmaps'] }],
  },
  {
    name: 'system:controller:token-cleaner',
    namespace: 'kube-system',
    rules: [
      { verbs: ['delete', 'get', 'list', 'watch'], apiGroups: [''], resources: ['secrets'] },
      { verbs: ['create', 'patch', 'update'], apiGroups: ['', 'events.k8s.io'], resources: ['events'] },
    ],
  },
];

export const roleBindingSpecs: readonly BindingSpec[] = [
  {
    name: 'system:controller:bootstrap-signer',
    namespace: 'kube-public',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'system:controller:bootstrap-signer' },
    subjects: [{ kind: 'ServiceAccount', name: 'bootstrap-signer', namespace: 'kube-system' }],
  },
  {
    name: 'system::extension-apiserver-authentication-reader',
    namespace: 'kube-system',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'extension-apiserver-authentication-reader' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-controller-manager' },
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' },
    ],
  },
  {
    name: 'system::leader-locking-kube-controller-manager',
    namespace: 'kube-system',
    role: {
      apiGroup: 'rbac.authorization.k8s.io',
      kind: 'Role',
      name: 'system::leader-locking-kube-controller-manager',
    },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-controller-manager' },
      { kind: 'ServiceAccount', name: 'kube-controller-manager', namespace: 'kube-system' },
      { kind: 'ServiceAccount', name: 'leader-election-controller', namespace: 'kube-system' },
    ],
  },
  {
    name: 'system::leader-locking-kube-scheduler',
    namespace: 'kube-system',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'system::leader-locking-kube-scheduler' },
    subjects: [
      { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'system:kube-scheduler' },
      { kind: 'ServiceAccount', name: 'kube-scheduler', namespace: 'kube-system' },
    ],
  },
  {
    name: 'system:controller:bootstrap-signer',
    namespace: 'kube-system',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'system:controller:bootstrap-signer' },
    subjects: [{ kind: 'ServiceAccount', name: 'bootstrap-signer', namespace: 'kube-system' }],
  },
  {
    name: 'system:controller:cloud-provider',
    namespace: 'kube-system',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'system:controller:cloud-provider' },
    subjects: [{ kind: 'ServiceAccount', name: 'cloud-provider', namespace: 'kube-system' }],
  },
  {
    name: 'system:controller:token-cleaner',
    namespace: 'kube-system',
    role: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'system:controller:token-cleaner' },
    subjects: [{ kind: 'ServiceAccount', name: 'token-cleaner', namespace: 'kube-system' }],
  },
];
