import {
  pathAnnotation,
  type DeepReadonly,
  type GroupVersionResource,
  type JsonObject,
  type KubeObject,
  type LogicalClusterName,
} from '@multiplane/apimachinery';
import {
  apiBindings,
  apiExports,
  apiResourceSchemas,
  boundDefinitionsCluster,
  resourceBindingsAnnotation,
  type APIBinding,
  type APIExport,
} from '@multiplane/apis';
import { PathAndNameIndex } from '@multiplane/client';
import { silentLogger } from '@multiplane/component-base';
import { apiBindingController } from '../src/apis/api-binding-controller.ts';
import { ExportReferenceIndex } from '../src/apis/export-reference-index.ts';
import { bindingExportReference } from '../src/apis/export-reference.ts';
import type { Controller } from '../src/runtime/controller.ts';
import { logicalClusters } from '../src/tenancy/kinds.ts';
import { FakeApi } from './fake-api.ts';
import { FakeClock } from '@multiplane/testing';

export const widgets: GroupVersionResource = { group: 'example.dev', version: 'v1', resource: 'widgets' };
export const provider = 'provider' as LogicalClusterName;
export const consumer = 'consumer' as LogicalClusterName;
export const bound = boundDefinitionsCluster as LogicalClusterName;

export const namesOf = (plural: string, shortNames: string[] = []) => {
  const singular = plural.replace(/s$/, '');
  const kind = `${singular[0]?.toUpperCase() ?? ''}${singular.slice(1)}`;
  return { plural, singular, kind, listKind: `${kind}List`, ...(shortNames.length === 0 ? {} : { shortNames }) };
};
export const schemaOf = (
  name: string,
  names: { plural: string; kind: string; singular?: string; listKind?: string } = namesOf(name.split('.')[1] as string),
): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha1',
  kind: 'APIResourceSchema',
  metadata: { name, uid: `uid-of-${name}` },
  spec: {
    group: 'example.dev',
    names: names as unknown as JsonObject,
    scope: 'Namespaced',
    versions: [{ name: 'v1', served: true, storage: true, schema: { type: 'object' } }],
  },
});
export const exportOf = (name: string, schemas: readonly string[], identityHash?: string): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIExport',
  metadata: { name, annotations: { [pathAnnotation]: 'root:provider' } },
  spec: {
    resources: schemas.map((schema) => ({ name: schema.split('.')[1] as string, group: 'example.dev', schema })),
  },
  ...(identityHash === undefined ? {} : { status: { identityHash } }),
});
export const bindingOf = (name: string, exportName = name, path = 'root:provider'): KubeObject => ({
  apiVersion: 'apis.kcp.io/v1alpha2',
  kind: 'APIBinding',
  metadata: { name },
  spec: { reference: { export: { name: exportName, ...(path === '' ? {} : { path }) } } },
});
export const definitionIn = (plural: string, names = namesOf(plural)): KubeObject => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.example.dev` },
  spec: { group: 'example.dev', names: names as unknown as JsonObject, scope: 'Namespaced', versions: [] },
  status: { acceptedNames: names as unknown as JsonObject, conditions: [{ type: 'Established', status: 'True' }] },
});

/** A provider with the export `things` of widgets and a schema of gears, a consumer, and the APIBinding controller. */
export class BindingFixture {
  readonly api = new FakeApi();
  readonly clock = new FakeClock();
  controller: Controller;

  constructor() {
    const { api } = this;
    api.put(logicalClusters, consumer, {
      apiVersion: 'core.kcp.io/v1alpha1',
      kind: 'LogicalCluster',
      metadata: { name: 'cluster', annotations: { [resourceBindingsAnnotation]: '{}' } },
    });
    api.put(apiResourceSchemas, provider, schemaOf('v1.widgets.example.dev'));
    api.put(apiResourceSchemas, provider, schemaOf('v1.gears.example.dev'));
    api.put(apiExports, provider, exportOf('things', ['v1.widgets.example.dev'], 'hash'));
    this.controller = this.start();
  }

  /** Starts another controller. */
  start(): Controller {
    const { api, clock } = this;
    const { informers, client } = api;
    const controller = apiBindingController({
      byExport: new ExportReferenceIndex(
        { referenceIn: bindingExportReference },
        { informer: informers.informer<APIBinding>(apiBindings) },
      ),
      createWithStatus: (resource, cluster, object) => client.create(resource, cluster, object),
      updateWithStatus: (cluster, object) => api.updateWithStatus(apiBindings, cluster, object),
      informers,
      globalInformers: informers,
      client,
      clock,
      logger: silentLogger,
      exports: new PathAndNameIndex<APIExport>({ informer: informers.informer<APIExport>(apiExports) }),
    });
    void controller.start();
    return controller;
  }

  binding(name: string): DeepReadonly<APIBinding> | undefined {
    return this.api.get<APIBinding>(apiBindings, consumer, name);
  }

  conditionsOf(name: string): Record<string, string> {
    return Object.fromEntries(
      (this.binding(name)?.status?.conditions ?? []).map(({ type, status, reason, message }) => [
        type,
        status === 'True' ? 'True' : `${status} ${reason ?? ''}: ${message ?? ''}`,
      ]),
    );
  }

  /** The lock annotation of the consumer's logical cluster. */
  get locks(): string | undefined {
    return this.api.get(logicalClusters, consumer, 'cluster')?.metadata.annotations?.[resourceBindingsAnnotation];
  }
}
