/*
 * What `kubectl explain` says of the kinds of kcp, in our own words. A path names a field as `kubectl explain` does: items of
 * lists and values of maps add nothing to it. The path '' is the kind itself.
 */

const cachedResource = {
  '': 'Publishes objects of one resource of this workspace on all shards, read-only.',
  spec: 'Which objects are published.',
  'spec.group': 'API group of the resource; empty for the core group.',
  'spec.version': 'Version in which objects are published.',
  'spec.resource': 'Plural name of the resource. It must be cluster-scoped.',
  'spec.labelSelector': 'Selects objects by their labels. Empty: all objects.',
  'spec.identity': 'The key that distinguishes these objects from those of other providers.',
  'spec.identity.secretRef': 'The Secret with the key. Absent: one is created.',
  'status.identityHash': 'Hash of the identity key.',
  'status.phase': 'Progress of the publication; the conditions have the details.',
  'status.resourceCounts': 'Number of objects, to see whether all are published.',
  'status.resourceCounts.local': 'Selected objects of this workspace.',
  'status.resourceCounts.cache': 'Published objects.',
};

const endpointSliceOf = (kind: string, field: string): Record<string, string> => ({
  '': `URLs under which the objects of a ${kind} are read: one per shard with consumers.`,
  spec: 'Whose URLs are listed.',
  [`spec.${field}`]: `The ${kind}. It cannot be changed.`,
  [`spec.${field}.name`]: `Name of the ${kind}.`,
  [`spec.${field}.path`]: `Path of the workspace with the ${kind}. Empty: this workspace.`,
  'spec.export':
    'The APIExport through which consumers bind the resource. Its consumers decide which shards have a URL.',
  'spec.partition': 'Name of a Partition of this workspace, to list only URLs of its shards. Empty: all shards.',
  'status.endpoints': 'URLs of the virtual workspace of the objects, one per shard.',
  'status.shardSelector': 'Label selector of the shards that publish their URL.',
});

/** Texts of one kind, for all of its versions. */
export const kindDescriptions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Workspace: {
    'metadata.name': 'Name of the workspace in its parent: the last segment of its path.',
    'spec.type.name': 'Name of the WorkspaceType.',
    'spec.type.path':
      'Path of the workspace with the WorkspaceType. Empty: the type is looked up in the parent, then in the ancestors up to root.',
    'spec.location.selector': 'Selects the shards that may hold the workspace, by their labels. Empty: any shard.',
    'spec.mount.ref': 'The mount object. It is in the parent workspace and publishes the address in its status.',
    'spec.mount.ref.apiVersion': 'Group and version of the mount object.',
    'spec.mount.ref.kind': 'Kind of the mount object.',
    'spec.mount.ref.name': 'Name of the mount object.',
    'spec.mount.ref.namespace': 'Namespace of the mount object; empty if it is cluster-scoped.',
  },
  WorkspaceType: {
    'metadata.name': 'Name of the type. Workspaces of the type name it in spec.type.name.',
    'spec.extend.with': 'The extended types: initializers, default bindings and restrictions of each also apply.',
    'spec.limitAllowedChildren.types.name': 'Name of the WorkspaceType.',
    'spec.limitAllowedParents.types.name': 'Name of the WorkspaceType.',
    'spec.extend.with.name': 'Name of the WorkspaceType.',
    'spec.extend.with.path': 'Path of the workspace with the WorkspaceType. Empty: the workspace of this type.',
    'spec.limitAllowedChildren.types.path':
      'Path of the workspace with the WorkspaceType. Empty: the workspace of this type.',
    'spec.limitAllowedParents.types.path':
      'Path of the workspace with the WorkspaceType. Empty: the workspace of this type.',
    'spec.defaultChildWorkspaceType.name': 'Name of the WorkspaceType.',
    'spec.defaultChildWorkspaceType.path':
      'Path of the workspace with the WorkspaceType. Empty: the workspace of this type.',
    'spec.defaultAPIBindings.export': 'Name of the APIExport.',
    'spec.defaultAPIBindings.path': 'Path of the workspace with the APIExport. Empty: the workspace of this type.',
    'spec.authenticationConfigurations.name':
      'Name of a WorkspaceAuthenticationConfiguration in the workspace of this type.',
    'status.virtualWorkspaces.url': 'Base URL; clients append `/clusters/<logical cluster or *>`.',
    'status.virtualWorkspaces.type': 'Whether the URL has the initializing or the terminating workspaces.',
  },
  LogicalCluster: {
    'metadata.name': 'Always cluster: a logical cluster has one such object.',
    spec: 'Where the logical cluster comes from, and how it starts and ends.',
    'spec.directlyDeletable':
      'Whether the logical cluster may be deleted through this object. False: it is deleted with its owner.',
    'spec.owner':
      'The object that the logical cluster belongs to, a Workspace in most cases. Absent for logical clusters without a parent.',
    'spec.owner.apiVersion': 'Group and version of the owner.',
    'spec.owner.resource': 'Plural name of the resource of the owner.',
    'spec.owner.name': 'Name of the owner.',
    'spec.owner.namespace': 'Namespace of the owner; empty if it is cluster-scoped.',
    'spec.owner.cluster': 'Logical cluster of the owner.',
    'spec.owner.uid': 'UID of the owner: an object of the same name created later is not the owner.',
    'spec.createdBy': 'The user who created the workspace.',
    'spec.createdBy.username': 'Name of the user.',
    'spec.createdBy.uid': 'UID of the user, where the authenticator knows one.',
    'spec.createdBy.groups': 'Groups of the user at that time.',
    'spec.createdBy.extra': 'Further attributes of the user, as the authenticator reported them.',
    'spec.initializers': 'Initializers that the logical cluster starts with.',
    'spec.terminators': 'Terminators that have to finish before the logical cluster is deleted.',
    'status.URL': 'Address of the workspace for clients.',
  },
  Shard: {
    '': 'A server that stores logical clusters. A shard registers itself when it starts.',
    spec: 'The addresses of the shard.',
  },
  WorkspaceAuthenticationConfiguration: {
    '': 'Issuers of tokens that workspaces accept besides those of the installation. A WorkspaceType names it in authenticationConfigurations.',
    spec: 'The accepted issuers.',
    'spec.jwt': 'One authenticator of JSON Web Tokens per issuer.',
    'spec.jwt.issuer': 'Who issues the tokens, and how they are verified.',
    'spec.jwt.issuer.url': 'URL of the issuer, as in the claim iss. It begins with https and is unique in the list.',
    'spec.jwt.issuer.discoveryURL':
      'URL of the discovery document, if it is not at the well-known path below the URL of the issuer.',
    'spec.jwt.issuer.certificateAuthority':
      'CA certificates in PEM form that verify the issuer. Empty: the CAs of the system.',
    'spec.jwt.issuer.audiences': 'Audiences, one of which a token must have in its claim aud.',
    'spec.jwt.issuer.audienceMatchPolicy':
      'MatchAny: a token needs one of the audiences. Required with several audiences.',
    'spec.jwt.claimMappings': 'How claims become the attributes of a user.',
    'spec.jwt.claimMappings.username': 'The name of the user.',
    'spec.jwt.claimMappings.groups': 'The groups of the user.',
    'spec.jwt.claimMappings.uid': 'The UID of the user.',
    'spec.jwt.claimMappings.extra': 'Further attributes of the user.',
    'spec.jwt.claimMappings.extra.key': 'Key of the attribute: lower case, with a domain as prefix.',
    'spec.jwt.claimMappings.extra.valueExpression':
      'CEL expression over claims that gives the value: a string or a list of strings.',
    'spec.jwt.claimValidationRules': 'Conditions on the claims of a token; all must hold.',
    'spec.jwt.claimValidationRules.claim': 'Name of the claim that must be present. Excludes an expression.',
    'spec.jwt.claimValidationRules.requiredValue': 'Value that the claim must have.',
    'spec.jwt.claimValidationRules.expression': 'CEL expression over claims that must be true. Excludes a claim.',
    'spec.jwt.claimValidationRules.message': 'Reason that is logged if the expression is false.',
    'spec.jwt.userValidationRules': 'Conditions on the user that the mappings give; all must hold.',
    'spec.jwt.userValidationRules.expression': 'CEL expression over user that must be true.',
    'spec.jwt.userValidationRules.message': 'Reason that is logged if the expression is false.',
  },
  APIResourceSchema: {
    '': 'The names, versions and schemas of one resource for an APIExport. The spec cannot be changed: a change is a new APIResourceSchema that the export names instead.',
    spec: 'The definition of the resource, with the meaning that it has in a CustomResourceDefinition.',
    'spec.group': 'API group of the resource; empty for the core group.',
    'spec.scope': 'Namespaced or Cluster.',
    'spec.nameValidation':
      'Which names objects may have. DNS1123Subdomain: those of most kinds. PathSegmentName: anything that is one segment of a URL, as for RBAC.',
    'spec.names': 'The names of the resource.',
    'spec.names.plural': 'Plural name, in lower case: the name in URLs.',
    'spec.names.singular': 'Singular name, in lower case.',
    'spec.names.kind': 'Kind of the objects.',
    'spec.names.listKind': 'Kind of lists of the objects.',
    'spec.names.shortNames': 'Short names for the command line.',
    'spec.names.categories': 'Names such as all that stand for this resource and others on the command line.',
    'spec.conversion': 'How objects are converted between versions. Required with several versions.',
    'spec.conversion.strategy': 'None: only apiVersion is changed. Webhook: a webhook converts.',
    'spec.conversion.webhook': 'The webhook that converts.',
    'spec.conversion.webhook.clientConfig': 'Address of the webhook.',
    'spec.conversion.webhook.clientConfig.url': 'URL of the webhook.',
    'spec.conversion.webhook.clientConfig.caBundle':
      'CA certificates in PEM form that verify the webhook. Empty: the CAs of the system.',
    'spec.conversion.webhook.conversionReviewVersions':
      'Versions of ConversionReview that the webhook understands, best first.',
    'spec.versions': 'The versions of the resource.',
    'spec.versions.name': 'Name of the version, such as v1 or v1beta1.',
    'spec.versions.served': 'Whether clients can use the version.',
    'spec.versions.storage': 'Whether objects are stored in this version. Exactly one version is.',
    'spec.versions.deprecated': 'Whether clients of the version get a warning.',
    'spec.versions.deprecationWarning': 'Text of that warning, instead of the standard one.',
    'spec.versions.schema': 'Structural OpenAPI v3 schema of the objects.',
    'spec.versions.additionalPrinterColumns': 'Columns that kubectl get shows.',
    'spec.versions.additionalPrinterColumns.name': 'Header of the column.',
    'spec.versions.additionalPrinterColumns.type': 'integer, number, string, boolean or date.',
    'spec.versions.additionalPrinterColumns.format': 'Format of the value, such as int32 or date-time.',
    'spec.versions.additionalPrinterColumns.description': 'What the column shows.',
    'spec.versions.additionalPrinterColumns.priority': '0: always shown. Greater: only with -o wide.',
    'spec.versions.additionalPrinterColumns.jsonPath': 'JSON path of the value in the object.',
    'spec.versions.selectableFields': 'Fields by which clients can select objects.',
    'spec.versions.selectableFields.jsonPath': 'JSON path of the field.',
    'spec.versions.subresources': 'Subresources of the objects.',
    'spec.versions.subresources.status': 'Present: the status is written through /status only.',
    'spec.versions.subresources.scale': 'Present: objects have /scale, which kubectl scale and autoscalers use.',
    'spec.versions.subresources.scale.specReplicasPath': 'JSON path of the wanted number of replicas, below spec.',
    'spec.versions.subresources.scale.statusReplicasPath': 'JSON path of the actual number of replicas, below status.',
    'spec.versions.subresources.scale.labelSelectorPath':
      'JSON path of the label selector of the replicas, as text. Needed by autoscalers.',
  },
  APIConversion: {
    '': 'Rules that convert objects between versions of an APIResourceSchema without a webhook. It has the name of the APIResourceSchema.',
    spec: 'The conversions.',
    'spec.conversions': 'One entry per pair of versions and direction.',
    'spec.conversions.from': 'Version that is converted.',
    'spec.conversions.to': 'Version that results.',
    'spec.conversions.rules':
      'The rules, each for one field. Fields without a rule are copied if both versions have them.',
    'spec.conversions.rules.field': 'JSON path of the field in the object that is converted.',
    'spec.conversions.rules.destination': 'JSON path of the field in the result.',
    'spec.conversions.rules.transformation':
      'CEL expression over self, the value of the field, that gives the new value.',
    'spec.conversions.preserve':
      'JSON paths of fields that the result cannot express. An annotation keeps them for the way back.',
  },
  APIExport: {
    '': 'APIs that a provider offers to other workspaces. Consumers bind them with an APIBinding.',
    spec: 'The offered APIs, and what the provider asks of consumers.',
    'spec.resources': 'The offered resources.',
    'spec.resources.name': 'Plural name of the resource.',
    'spec.resources.group': 'API group of the resource; empty for the core group.',
    'spec.resources.schema':
      'Name of the APIResourceSchema in this workspace. Another name is rolled out to all consumers.',
    'spec.resources.storage': 'Where objects are stored.',
    'spec.resources.storage.crd': 'Objects are stored in the workspaces of the consumers.',
    'spec.resources.storage.virtual': 'Consumers read objects through a virtual workspace that serves them.',
    'spec.resources.storage.virtual.reference': 'The object of this workspace that publishes the URLs in its status.',
    'spec.resources.storage.virtual.reference.apiGroup': 'API group of the object.',
    'spec.resources.storage.virtual.reference.kind': 'Kind of the object, such as CachedResourceEndpointSlice.',
    'spec.resources.storage.virtual.reference.name': 'Name of the object.',
    'spec.resources.storage.virtual.identityHash': 'Identity of the served objects.',
    'spec.latestResourceSchemas':
      'Names of the APIResourceSchemas in this workspace, one for each offered resource. In v1alpha2 the field is resources.',
    'spec.identity': 'The key that distinguishes this export from others with the same API group.',
    'spec.identity.secretRef': 'The Secret with the key. Absent: one is created.',
    'spec.maximalPermissionPolicy':
      'The most that users of consumers may do with the offered APIs, whatever RBAC in their workspace grants.',
    'spec.maximalPermissionPolicy.local':
      'RBAC of this workspace says it. Users have the prefix apis.kcp.io:binding: in their name and groups.',
    'spec.permissionClaims':
      'Resources in the workspaces of consumers that the provider asks access to. Consumers accept or reject each in the APIBinding.',
    status: 'What the control plane found.',
    'status.identityHash': 'Hash of the identity key. Claims of other exports name it to mean the APIs of this one.',
    'status.virtualWorkspaces':
      'URLs of the virtual workspace of the export. Use an APIExportEndpointSlice, which replaces this list.',
    'status.virtualResources': 'The virtual resources with the URLs of their virtual workspaces.',
    'status.virtualResources.name': 'Plural name of the resource.',
    'status.virtualResources.group': 'API group of the resource.',
    'status.virtualResources.endpoints': 'URLs, one per shard.',
  },
  APIBinding: {
    '': 'Binds the APIs of an APIExport, so that this workspace serves them.',
    spec: 'What is bound, and what the provider may do here.',
    'spec.reference': 'Where the APIs come from. It cannot be changed.',
    'spec.reference.export': 'The APIExport.',
    'spec.permissionClaims': 'Answers to the claims of the export. A claim without an answer grants nothing.',
    'spec.permissionClaims.state': 'Accepted: the provider gets access. Rejected: it does not.',
    'spec.permissionClaims.selector':
      'Selects the objects that the provider has access to. It cannot be changed after the claim was answered.',
    status: 'What is bound.',
    'status.phase': 'Binding: resources are not served yet; the conditions say why. Bound: all resources are served.',
    'status.apiExportClusterName': 'Logical cluster of the APIExport.',
    'status.boundResources': 'The resources that this workspace serves through the binding.',
    'status.boundResources.group': 'API group of the resource; empty for the core group.',
    'status.boundResources.resource': 'Plural name of the resource.',
    'status.boundResources.schema': 'The APIResourceSchema of the resource.',
    'status.boundResources.schema.name': 'Name of the APIResourceSchema in the workspace of the export.',
    'status.boundResources.schema.UID': 'UID of the APIResourceSchema.',
    'status.boundResources.schema.identityHash': 'Identity of the export. Objects are stored under it.',
    'status.boundResources.storageVersions':
      'Versions in which objects may be stored. A version leaves the list after its objects were migrated.',
    'status.exportPermissionClaims': 'The claims that the export makes at the moment.',
    'status.appliedPermissionClaims': 'The accepted claims that are in force.',
  },
  APIExportEndpointSlice: {
    '': 'URLs under which the provider finds the objects of all consumers of an APIExport: one per shard with consumers.',
    spec: 'Whose URLs are listed.',
    'spec.export': 'The APIExport. It cannot be changed.',
    'spec.partition': 'Name of a Partition of this workspace, to list only URLs of its shards. Empty: all shards.',
    'status.endpoints': 'URLs of the virtual workspace of the export, one per shard.',
    'status.shardSelector': 'Label selector of the shards that publish their URL.',
  },
  Partition: {
    '': 'A group of shards, for controllers that serve only a part of the installation.',
    spec: 'The shards of the group.',
    'spec.selector': 'Selects shards by their labels. Empty: all shards.',
  },
  PartitionSet: {
    '': 'Creates one Partition for each combination of label values that shards have.',
    spec: 'How shards are divided.',
    'spec.dimensions': 'Keys of the labels, such as region. Each combination of values is a Partition.',
    'spec.shardSelector': 'Selects the shards that are divided. Empty: all shards.',
    'status.count': 'Number of Partitions of the set.',
  },
  CachedResource: cachedResource,
  CachedResourceEndpointSlice: endpointSliceOf('CachedResource', 'cachedResource'),
  ClusterCachedResource: cachedResource,
  ClusterCachedResourceEndpointSlice: endpointSliceOf('ClusterCachedResource', 'clusterCachedResource'),
  WorkspaceUsage: {
    status: 'What the server counted for this request.',
    'status.used': 'How much is used, by what is counted.',
    'status.limits': 'The limits that apply, and who set them.',
  },
};

const claimFields = {
  group: 'API group of the claimed resource; empty for the core group.',
  resource: 'Plural name of the claimed resource.',
  identityHash: 'Identity of the APIExport that the resource comes from. Empty for kinds that every workspace has.',
  verbs: 'Verbs that the provider may use on the objects; * for all.',
  all: 'Whether all objects are meant. In v1alpha2 the field is selector.matchAll.',
  resourceSelector: 'The objects that are meant, by name. v1alpha2 has label selectors instead.',
  'resourceSelector.name': 'Name of the object; empty: any.',
  'resourceSelector.namespace': 'Namespace of the object; empty: any.',
  defaultSelector: 'The selector that bindings get unless the consumer chooses another.',
  selector: 'Selects the objects that the provider has access to.',
  objects:
    'Which objects of the resource are meant; whatever is set must hold. Absent: those that the selector selects.',
  'objects.names': 'Names of the objects.',
  'objects.namespaces': 'Namespaces of the objects.',
  'objects.fieldSelector': 'Field selector, as in list requests.',
  'objects.references': 'The object is named by an object of the export, through any of these.',
  'objects.references.group': 'API group of the resource; empty for the core group.',
  'objects.references.resource': 'Resource of the export whose objects name claimed objects.',
  'objects.references.path':
    'JSONPath to names, or to objects with a name and a namespace, for example .spec.secretRef or .spec.volumes[*].secretName.',
  'objects.references.otherNamespaces':
    'Whether an object in a namespace may name objects of other namespaces. Only its own by default.',
  subresources: 'Subresources that the verbs are for, besides the objects themselves. Absent: all.',
};

const claimsIn = (parent: string): Record<string, string> =>
  Object.fromEntries(Object.entries(claimFields).map(([field, text]) => [`${parent}.${field}`, text]));

/** Texts of fields that several kinds have, by the end of their path; the longest end that matches counts. */
export const commonDescriptions: Readonly<Record<string, string>> = {
  apiVersion: 'Group and version of the schema of this object.',
  kind: 'Kind of this object.',
  metadata: 'Standard metadata of the object.',
  status: 'The observed state; written by the system.',
  'status.phase':
    'Progress of the workspace: Scheduling, Initializing, Ready; then Unavailable, Inactive, Terminating or Deleting. The conditions say what holds it up.',
  'status.initializers': 'Initializers that have not finished. The workspace becomes Ready after the last one.',
  'status.terminators': 'Terminators that have not finished. The workspace is deleted after the last one.',
  conditions: 'The current state, one entry per aspect.',
  'conditions.type': 'The aspect.',
  'conditions.status': 'True, False or Unknown.',
  'conditions.severity': 'Error, Warning or Info; empty where the status is True.',
  'conditions.lastTransitionTime': 'When the status last changed.',
  'conditions.reason': 'The cause, in one word.',
  'conditions.message': 'What happened, for people.',
  matchLabels: 'Labels with the values that they must have; all must match.',
  matchAll: 'Whether all objects are selected. Excludes labels and expressions.',
  'endpoints.shards': 'Shards that use the URL. Absent: the shard below whose virtual workspace URL it is.',
  'shards.matchAll': 'Whether all shards use the URL. Excludes a selector.',
  'shards.selector':
    'Selects shards by their labels. Of several that match, the one with the most requirements is used.',
  matchExpressions: 'Conditions on labels; all must hold.',
  'matchExpressions.key': 'Key of the label.',
  'matchExpressions.operator': 'In, NotIn, Exists or DoesNotExist.',
  'matchExpressions.values': 'Values for In and NotIn; empty for Exists and DoesNotExist.',
  'secretRef.name': 'Name of the Secret.',
  'secretRef.namespace': 'Namespace of the Secret.',
  'export.name': 'Name of the APIExport.',
  'export.path': 'Path of the workspace with the APIExport. Empty: this workspace.',
  url: 'Base URL; clients append `/clusters/<logical cluster or *>`.',
  claim: 'Name of the claim with the value. Excludes an expression.',
  expression: 'CEL expression over claims that gives the value. Excludes a claim.',
  prefix: 'Put before the value of the claim, so that users of different issuers cannot be confused.',
  ...claimsIn('permissionClaims'),
  ...claimsIn('exportPermissionClaims'),
  ...claimsIn('appliedPermissionClaims'),
  ...Object.fromEntries(
    ['initializerPermissions', 'terminatorPermissions'].flatMap((rules) => [
      [`${rules}.apiGroups`, 'API groups of the resources; * for all, empty text for the core group.'],
      [`${rules}.resources`, 'Resources, also as resource/subresource; * for all.'],
      [`${rules}.resourceNames`, 'Names of the objects; empty for all.'],
      [`${rules}.nonResourceURLs`, 'Paths that are no resources, such as /healthz; * at the end for all below.'],
      [`${rules}.verbs`, 'Verbs that are allowed; * for all.'],
    ]),
  ),
};
