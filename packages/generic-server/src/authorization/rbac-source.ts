import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerSource } from '@multiplane/client';
import { RecentlyUsed } from '../recently-used.ts';
import type { PolicyRule } from './rbac-rules.ts';

export const rbacGroup = 'rbac.authorization.k8s.io';
const resource = (name: string) => ({ group: rbacGroup, version: 'v1', resource: name });

export interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}
export interface RoleRef {
  readonly apiGroup: string;
  readonly kind: string;
  readonly name: string;
}
export type RoleObject = KubeObject & { rules?: PolicyRule[] };
export type BindingObject = KubeObject & { subjects?: Subject[]; roleRef: RoleRef };

/** One subject of one binding, found by who it names. */
export interface Grant {
  readonly binding: DeepReadonly<BindingObject>;
  readonly subject: DeepReadonly<Subject>;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
}

/** Key of a subject in the index; a ServiceAccount is found by its user name. */
export const userKey = (name: string): string => `u:${name}`;
export const groupKey = (name: string): string => `g:${name}`;

/** Clusters whose bindings are kept indexed at a time; an index is made again in microseconds per binding. */
const maxIndexes = 1024;

/** Bindings of one cluster by the subjects they name: another object after every change of the cluster's RBAC. */
export interface RbacIndex {
  readonly grants: ReadonlyMap<string, readonly Grant[]>;
}

/**
 * Roles and bindings by logical cluster, read from informers. For each cluster that is asked about, bindings are
 * indexed by subject, so a decision costs the bindings that name the caller and not all there are. A change of a
 * binding or role drops the index of its cluster, and with it whatever was decided by it.
 */
export class RbacSource {
  readonly #clusterRoles: Informer<RoleObject>;
  readonly #roles: Informer<RoleObject>;
  readonly #clusterRoleBindings: Informer<BindingObject>;
  readonly #roleBindings: Informer<BindingObject>;
  readonly #indexes = new RecentlyUsed<LogicalClusterName, RbacIndex>(maxIndexes);
  constructor(modules: { readonly informers: InformerSource }) {
    const { informers } = modules;
    this.#clusterRoles = informers.informer<RoleObject>(resource('clusterroles'));
    this.#roles = informers.informer<RoleObject>(resource('roles'));
    this.#clusterRoleBindings = informers.informer<BindingObject>(resource('clusterrolebindings'));
    this.#roleBindings = informers.informer<BindingObject>(resource('rolebindings'));
    const drop = (_object: unknown, { cluster }: { readonly cluster: LogicalClusterName }): void =>
      this.#indexes.delete(cluster);
    const dropUpdated = (
      _object: unknown,
      _old: unknown,
      { cluster }: { readonly cluster: LogicalClusterName },
    ): void => this.#indexes.delete(cluster);
    const handlers = { added: drop, updated: dropUpdated, deleted: drop, onlyForgets: true };
    for (const bindings of [this.#clusterRoleBindings, this.#roleBindings]) bindings.addHandlers(handlers);
    for (const roles of [this.#clusterRoles, this.#roles]) roles.addHandlers(handlers);
  }

  /** What is known of a cluster; ask anew for every decision. */
  index(cluster: LogicalClusterName): RbacIndex {
    let index = this.#indexes.get(cluster);
    if (index === undefined) {
      index = { grants: this.#build(cluster) };
      this.#indexes.set(cluster, index);
    }
    return index;
  }

  /** Bindings of a cluster that name the subject of a key. */
  grants(cluster: LogicalClusterName, key: string): readonly Grant[] {
    return this.index(cluster).grants.get(key) ?? [];
  }

  /** The rules behind a reference; undefined when the role does not exist. `namespace` is the binding's. */
  rules(
    cluster: LogicalClusterName,
    roleRef: DeepReadonly<RoleRef>,
    namespace: string,
  ): readonly DeepReadonly<PolicyRule>[] | undefined {
    const role =
      roleRef.kind === 'ClusterRole'
        ? this.#clusterRoles.get({ cluster, namespace: '', name: roleRef.name })
        : roleRef.kind === 'Role' && namespace !== ''
          ? this.#roles.get({ cluster, namespace, name: roleRef.name })
          : undefined;
    return role === undefined ? undefined : (role.rules ?? []);
  }

  #build(cluster: LogicalClusterName): Map<string, Grant[]> {
    const index = new Map<string, Grant[]>();
    const add = (binding: DeepReadonly<BindingObject>, namespace: string): void => {
      for (const subject of binding.subjects ?? []) {
        const key =
          subject.kind === 'User'
            ? userKey(subject.name)
            : subject.kind === 'Group'
              ? groupKey(subject.name)
              : subject.kind === 'ServiceAccount'
                ? userKey(`system:serviceaccount:${subject.namespace ?? namespace}:${subject.name}`)
                : undefined;
        if (key === undefined) continue;
        const grants = index.get(key);
        if (grants === undefined) index.set(key, [{ binding, subject, namespace }]);
        else grants.push({ binding, subject, namespace });
      }
    };
    for (const binding of this.#clusterRoleBindings.list({ cluster })) add(binding, '');
    for (const binding of this.#roleBindings.list({ cluster })) add(binding, binding.metadata.namespace ?? '');
    return index;
  }
}
