import type { GroupVersionKind, JsonObject } from '@multiplane/apimachinery';
import type { PatchMeta } from '../compiled-schema.ts';
import type { ResolveReference } from '../schema-compiler.ts';

/** A resource as OpenAPI documents need to know it. */
export interface OpenAPIResource extends GroupVersionKind {
  readonly listKind: string;
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly origin: 'built-in' | 'custom';
  /** Built-in: the published component. Custom: the openAPIV3Schema of the version. */
  readonly schema: JsonObject;
  /** JSON paths of fields that field selectors know (custom resources). */
  readonly selectableFields?: readonly string[] | undefined;
  readonly subresources: readonly OpenAPISubresource[];
  /** DELETE answers with the object instead of a Status. */
  readonly returnsDeletedObject?: boolean | undefined;
  /** Of a custom resource that brings back a kind of Kubernetes: how patches merge its fields. */
  readonly nativePatchMeta?: PatchMeta | undefined;
}

export interface OpenAPISubresource {
  /** `status`, `scale`, `token`. */
  readonly name: string;
  readonly verbs: readonly string[];
  /** Absent: the kind of the resource. */
  readonly kind?: GroupVersionKind | undefined;
}

export interface OpenAPIDefinitions {
  /** The component behind a `$ref` that built-in schemas and the documents themselves use. */
  readonly resolve: ResolveReference;
  /** `info.version` of the documents. */
  readonly version: string;
}

const apiextensions = 'apiextensions.k8s.io';

/**
 * Name of a kind's component: `io.k8s.api.rbac.v1.Role` for Kubernetes' own groups, otherwise the group backwards
 * (`com.example.v1.Foo`).
 */
export function componentName(kind: GroupVersionKind, origin: 'built-in' | 'custom'): string {
  const tail = `${kind.version}.${kind.kind}`;
  if (kind.group === '') return `io.k8s.api.core.${tail}`;
  const ofKubernetes = kind.group.endsWith('.k8s.io') || !kind.group.includes('.');
  if (origin === 'custom' || !ofKubernetes) return `${kind.group.split('.').toReversed().join('.')}.${tail}`;
  if (kind.group === apiextensions) return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${tail}`;
  return `io.k8s.api.${kind.group.split('.')[0]}.${tail}`;
}

export const componentReference = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1.';
/** Reference to a type of meta/v1. */
export const metaReference = (name: string): JsonObject => componentReference(metaPackage + name);
