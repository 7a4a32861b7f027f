import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, ObjectReference, WorkQueue } from '@multiplane/client';
import { Controller, type ControllerModules } from '../runtime/controller.ts';
import { keyOf, referenceOf } from '../runtime/object-key.ts';
import { ignoreReasons } from '../runtime/object-writes.ts';
import { logicalClusterObjectName, logicalClusters, type LogicalCluster } from '../tenancy/kinds.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  ReplicateAnnotationGroups,
  systemAdminCluster,
  type AnnotatedKind,
} from './replicate-annotation-groups.ts';
import {
  bindsPolicySubjects,
  desiredReplicateAnnotation,
  groupsOfRules,
  replicateAnnotationOf,
  type ClusterRole,
  type ClusterRoleBinding,
} from './replicate-annotation.ts';
import { replicateAnnotation } from './replicated-kinds.ts';

/**
 * Keeps the annotation `internal.kcp.io/replicate` of LogicalClusters, ClusterRoles and ClusterRoleBindings: the API groups
 * that need them on all shards (kcp: replicatelogicalcluster, replicateclusterrole and replicateclusterrolebinding below
 * pkg/reconciler). A logical cluster is replicated if it has workspace types, exports or scopes; a role or binding if it decides
 * who may use those.
 *
 * One controller for the three kinds. Handlers compute the annotation and queue only objects whose annotation is wrong, so
 * that a million correct bindings cost no queue entries:
 *
 *   type, export, scope         → its logical cluster
 *   annotation of a cluster     → all roles and bindings in it
 *   role                        → itself; the bindings to it when its groups change
 *   binding                     → itself; the role it binds to policy subjects, and its cluster if replicated
 *   role of system:admin        → the bindings to it in all replicated logical clusters (others at the next start)
 */
export function replicateAnnotationController(modules: ControllerModules): Controller {
  const { client } = modules;
  const groups = new ReplicateAnnotationGroups(modules);
  const controller: Controller = new Controller({ name: 'replicate-annotation', reconcile, workers: 8 }, modules);
  new ReplicateAnnotationEnqueue({ groups, queue: controller.queue }).addHandlers();

  async function reconcile(key: string): Promise<void> {
    const end = key.indexOf(separator);
    const kind = key.slice(0, end) as AnnotatedKind;
    const reference = referenceOf(key.slice(end + separator.length));
    const object = groups[kind].get(reference);
    if (object === undefined) return;
    const wanted = groups.groupsOf(kind, object, reference);
    // After a start the index may lack bindings: list them before an annotation is removed.
    if (kind === 'roles' && groups.bindsPolicySubjectsTo(reference)) wanted.add('apis.kcp.io');
    const annotation = desiredReplicateAnnotation(object, wanted);
    if (annotation === replicateAnnotationOf(object)) return;
    const { uid, resourceVersion } = object.metadata;
    await ignoreReasons(['NotFound'], () =>
      client.patch(resources[kind], reference, 'application/merge-patch+json', {
        metadata: {
          ...(uid === undefined ? {} : { uid }),
          ...(resourceVersion === undefined ? {} : { resourceVersion }),
          annotations: { [replicateAnnotation]: annotation === '' ? null : annotation },
        },
      }),
    );
  }
  return controller;
}

const separator = '::';
const resources = { clusters: logicalClusters, roles: clusterRoles, bindings: clusterRoleBindings } as const;

/** The informer handlers of {@link replicateAnnotationController}. */
class ReplicateAnnotationEnqueue {
  readonly #groups: ReplicateAnnotationGroups;
  readonly #queue: WorkQueue;
  /** Logical clusters with the annotation, as far as handlers have seen them. */
  readonly #replicated = new Set<LogicalClusterName>();

  constructor(modules: { readonly groups: ReplicateAnnotationGroups; readonly queue: WorkQueue }) {
    this.#groups = modules.groups;
    this.#queue = modules.queue;
  }

  addHandlers(): void {
    const { clusters, types, exports, scopes, roles, bindings } = this.#groups;
    clusters.addHandlers({
      added: (object, reference) => this.#clusterChanged(object, reference),
      updated: (object, old, reference) => {
        if (replicateAnnotationOf(object) !== replicateAnnotationOf(old)) this.#clusterChanged(object, reference);
      },
      deleted: (_old, reference) => this.#clusterChanged(undefined, reference),
    });
    for (const informer of [types, exports, scopes]) {
      informer.addHandlers({
        added: (_object, reference) => this.#checkCluster(reference),
        deleted: (_old, reference) => this.#checkCluster(reference),
      });
    }
    roles.addHandlers({
      added: (role, reference) => this.#roleChanged(role, undefined, reference),
      updated: (role, old, reference) => this.#roleChanged(role, old, reference),
      deleted: (old, reference) => this.#roleChanged(undefined, old, reference),
    });
    bindings.addHandlers({
      added: (binding, reference) => this.#bindingChanged(binding, undefined, reference),
      updated: (binding, old, reference) => this.#bindingChanged(binding, old, reference),
      deleted: (old, reference) => this.#bindingChanged(undefined, old, reference),
    });
  }

  #clusterChanged(object: DeepReadonly<LogicalCluster> | undefined, reference: ObjectReference): void {
    const { cluster } = reference;
    const wasReplicated = this.#replicated.has(cluster);
    const isReplicated = object !== undefined && replicateAnnotationOf(object) !== '';
    if (isReplicated) this.#replicated.add(cluster);
    else this.#replicated.delete(cluster);
    if (object !== undefined) this.#check('clusters', object, reference);
    if (wasReplicated === isReplicated) return;
    this.#checkAll('roles', this.#groups.roles, cluster);
    this.#checkAll('bindings', this.#groups.bindings, cluster);
  }

  #checkCluster({ cluster }: ObjectReference): void {
    const reference = logicalClusterReference(cluster);
    const object = this.#groups.clusters.get(reference);
    if (object !== undefined) this.#check('clusters', object, reference);
  }

  #roleChanged(
    role: DeepReadonly<ClusterRole> | undefined,
    old: DeepReadonly<ClusterRole> | undefined,
    { cluster, name }: ObjectReference,
  ): void {
    if (role !== undefined) this.#check('roles', role, { cluster, namespace: '', name });
    if (groupsGrantedBy(role) === groupsGrantedBy(old)) return;
    for (const bindingCluster of cluster === systemAdminCluster ? this.#replicated : [cluster])
      this.#checkAll('bindings', this.#groups.bindings, bindingCluster, ({ roleRef }) => roleRef?.name === name);
  }

  #bindingChanged(
    binding: DeepReadonly<ClusterRoleBinding> | undefined,
    old: DeepReadonly<ClusterRoleBinding> | undefined,
    reference: ObjectReference,
  ): void {
    const { cluster } = reference;
    if (binding !== undefined) this.#check('bindings', binding, reference);
    for (const version of [old, binding]) {
      if (version === undefined || !bindsPolicySubjects(version)) continue;
      const role = { cluster, namespace: '', name: version.roleRef?.name ?? '' };
      this.#groups.indexPolicyBinding(reference, role, version === binding);
      this.#enqueue('roles', role);
      if (this.#replicated.has(cluster)) this.#enqueue('clusters', logicalClusterReference(cluster));
    }
  }

  #checkAll<T extends KubeObject>(
    kind: AnnotatedKind,
    informer: Informer<T>,
    cluster: LogicalClusterName,
    isConcerned: (object: DeepReadonly<T>) => boolean = () => true,
  ): void {
    for (const object of informer.list({ cluster })) {
      const reference = { cluster, namespace: '', name: object.metadata.name ?? '' };
      if (isConcerned(object)) this.#check(kind, object, reference);
    }
  }

  #check(kind: AnnotatedKind, object: DeepReadonly<KubeObject>, reference: ObjectReference): void {
    if (!isSystem(reference.cluster) && !this.#groups.isCorrect(kind, object, reference))
      this.#enqueue(kind, reference);
  }

  #enqueue(kind: AnnotatedKind, reference: ObjectReference): void {
    if (!isSystem(reference.cluster)) this.#queue.add(`${kind}${separator}${keyOf(reference)}`);
  }
}

const isSystem = (cluster: string): boolean => cluster.startsWith('system:');

const logicalClusterReference = (cluster: LogicalClusterName): ObjectReference => ({
  cluster,
  namespace: '',
  name: logicalClusterObjectName,
});

/** The groups of a role in a replicated logical cluster, as comparable text. */
const groupsGrantedBy = (role: DeepReadonly<ClusterRole> | undefined): string =>
  role === undefined ? '' : [...groupsOfRules(role.rules, true)].sort().join();
