import {
  isConditionTrue,
  type Condition,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
} from '@multiplane/apimachinery';

export const crds: GroupVersionResource = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};

export interface CrdNames {
  plural: string;
  singular?: string;
  shortNames?: string[];
  kind: string;
  listKind?: string;
  categories?: string[];
}
export type CustomResourceDefinition = KubeObject & {
  spec: {
    group: string;
    scope: string;
    names: CrdNames;
    versions: { name: string; served: boolean; storage: boolean }[];
    conversion?: JsonObject;
  };
  status?: {
    conditions?: Condition[];
    acceptedNames?: CrdNames;
    storedVersions?: string[];
  };
};

export const isEstablished = ({ status }: DeepReadonly<CustomResourceDefinition>): boolean =>
  isConditionTrue(status?.conditions, 'Established');

/** Whether another definition or a built-in kind holds a name. */
export interface TakenNames {
  readonly resource: (name: string) => boolean;
  readonly kind: (name: string) => boolean;
}
/** For definitions that do not compete for names. */
export const noTakenNames: TakenNames = { resource: () => false, kind: () => false };

interface NameDecision {
  readonly acceptedNames: CrdNames;
  /** Undefined: every name was accepted. */
  readonly conflict: { readonly reason: string; readonly message: string } | undefined;
}

/**
 * Decides which names a definition may use: plural, singular and short names share one name space per group, kind and list
 * kind another. Accepted names are kept. Of several conflicts the last is reported (Kubernetes:
 * apiextensions-apiserver/pkg/controller/status/naming_controller.go).
 */
export function decideNames(crd: DeepReadonly<CustomResourceDefinition>, taken: TakenNames): NameDecision {
  const requested = crd.spec.names;
  const held = crd.status?.acceptedNames;
  let conflict: NameDecision['conflict'];
  const accept = (
    wanted: string | undefined,
    before: string | undefined,
    isUsed: (name: string) => boolean,
    reason: string,
  ): string => {
    if (wanted === undefined || wanted === '' || !isUsed(wanted)) return wanted ?? '';
    conflict = { reason, message: `"${wanted}" is already in use` };
    return before ?? '';
  };
  const plural = accept(requested.plural, held?.plural, taken.resource, 'PluralConflict');
  const singular = accept(requested.singular, held?.singular, taken.resource, 'SingularConflict');
  const shortConflicts = (requested.shortNames ?? []).filter((name) => taken.resource(name));
  if (shortConflicts.length > 0)
    conflict = {
      reason: 'ShortNamesConflict',
      message: shortConflicts.map((name) => `"${name}" is already in use`).join(', '),
    };
  const shortNames = shortConflicts.length === 0 ? [...(requested.shortNames ?? [])] : [...(held?.shortNames ?? [])];
  const kind = accept(requested.kind, held?.kind, taken.kind, 'KindConflict');
  const listKind = accept(requested.listKind, held?.listKind, taken.kind, 'ListKindConflict');
  return {
    acceptedNames: {
      plural,
      ...(singular === '' ? {} : { singular }),
      ...(shortNames.length === 0 ? {} : { shortNames }),
      kind,
      ...(listKind === '' ? {} : { listKind }),
      ...((requested.categories ?? []).length === 0 ? {} : { categories: [...(requested.categories ?? [])] }),
    },
    conflict,
  };
}
