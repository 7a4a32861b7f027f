import type { DeepReadonly, KubeObject, LogicalClusterName } from '@multiplane/apimachinery';
import type { Informer, InformerSource } from '@multiplane/client';
import { LRUCache } from 'lru-cache';
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

/** One subject of a binding. */
export interface Grant {
  readonly binding: DeepReadonly<BindingObject>;
  readonly subject: DeepReadonly<Subject>;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
}

/** Keys of subjects in the index. ServiceAccounts are indexed by their user name. */
export const userKey = (name: string): string => `u:${name}`;
export const groupKey = (name: string): string => `g:${name}`;

/** Logical clusters with a cached index. Rebuilding one takes microseconds per binding. */
const maxIndexes = 1024;

/** Bindings of a logical cluster by subject. A change of the cluster's RBAC creates a new object. */
export interface RbacIndex {
  readonly grants: ReadonlyMap<string, readonly Grant[]>;
}

/**
 * Roles and bindings by logical cluster, read from informers. The bindings of a logical cluster are indexed by subject on first
 * use, so a decision evaluates only bindings of the caller. A change of a role or binding invalidates the index of its logical
 * cluster, and with it the decisions that were cached by index.
 */
export class RbacSource {
  readonly #clusterRoles: Informer<RoleObject>;
  readonly #roles: Informer<RoleObject>;
  readonly #clusterRoleBindings: Informer<BindingObject>;
  readonly #roleBindings: Informer<BindingObject>;
  readonly #indexes = new LRUCache<LogicalClusterName, RbacIndex>({ max: maxIndexes });
  constructor(modules: { readonly informers: InformerSource }) {
    const { informers } = modules;
    this.#clusterRoles = informers.informer<RoleObject>(resource('clusterroles'));
    this.#roles = informers.informer<RoleObject>(resource('roles'));
    this.#clusterRoleBindings = informers.informer<BindingObject>(resource('clusterrolebindings'));
    this.#roleBindings = informers.informer<BindingObject>(resource('rolebindings'));
    const invalidate = (_object: unknown, { cluster }: { readonly cluster: LogicalClusterName }): void => {
      this.#indexes.delete(cluster);
    };
    const invalidateUpdated = (
      _object: unknown,
      _old: unknown,
      { cluster }: { readonly cluster: LogicalClusterName },
    ): void => {
      this.#indexes.delete(cluster);
    };
    const handlers = { added: invalidate, updated: invalidateUpdated, deleted: invalidate, onlyInvalidates: true };
    for (const bindings of [this.#clusterRoleBindings, this.#roleBindings]) bindings.addHandlers(handlers);
    for (const roles of [this.#clusterRoles, this.#roles]) roles.addHandlers(handlers);
  }

  /** The current index of a logical cluster. Must be read for every decision. */
  index(cluster: LogicalClusterName): RbacIndex {
    let index = this.#indexes.get(cluster);
    if (index === undefined) {
      index = { grants: this.#build(cluster) };
      this.#indexes.set(cluster, index);
    }
    return index;
  }

  /** Bindings of a logical cluster for a subject, by {@link userKey} or {@link groupKey}. */
  grants(cluster: LogicalClusterName, key: string): readonly Grant[] {
    return this.index(cluster).grants.get(key) ?? [];
  }

  /** The rules of a role; undefined if it does not exist. `namespace`: of the binding. */
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
