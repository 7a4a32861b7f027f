import { mapConcurrently } from '@multiplane/apimachinery';
import { eventually } from '@multiplane/testing';
import type { HostileDefinition } from '../fixtures/hostile-definitions.ts';
import type { Requests, Response, SentRequest } from './requests.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const concurrency = 16;
const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const protobuf2 = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const protobuf3 = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';

/**
 * Creates definitions in a workspace and checks, for each batch of them, that everything else in the workspace works: discovery,
 * OpenAPI, and a kind of the workspace that has nothing to do with them.
 */
export class DefinitionPlayer {
  readonly #workspace: Requests;
  readonly #neighbour: { readonly path: string; readonly object: (name: string) => object };
  readonly failures: string[] = [];
  created = 0;

  constructor(modules: {
    readonly workspace: Requests;
    readonly neighbour: { readonly path: string; readonly object: (name: string) => object };
  }) {
    this.#workspace = modules.workspace;
    this.#neighbour = modules.neighbour;
  }

  async play(batch: readonly HostileDefinition[]): Promise<void> {
    const accepted: HostileDefinition[] = [];
    await mapConcurrently(batch, concurrency, async (one) => {
      if (await this.#create(one)) accepted.push(one);
    });
    this.created += accepted.length;
    await mapConcurrently(accepted, concurrency, (one) => this.#use(one));
    await this.#checkNeighbours(accepted);
    await mapConcurrently(accepted, concurrency, async (one) => {
      await this.#expect({ method: 'DELETE', path: `${definitions}/${one.definition.metadata.name}` }, [200], one);
    });
  }

  async #create(one: HostileDefinition): Promise<boolean> {
    const created = await this.#expect(
      { method: 'POST', path: definitions, body: one.definition },
      [201, 400, 409, 422],
      one,
    );
    return created?.status === 201;
  }

  /** The kind itself answers, whatever it is like. */
  async #use(one: HostileDefinition): Promise<void> {
    const { group, names, scope, versions } = one.definition.spec;
    for (const { name, served } of versions) {
      if (!served) continue;
      const groupVersion = `${group}/${name}`;
      const path = `/apis/${groupVersion}/${scope === 'Cluster' ? '' : 'namespaces/e2e/'}${names.plural}`;
      if (!(await this.#isServed(one, path))) return;
      // A conversion webhook that does not answer fails requests of its own kind.
      const isConverted = one.definition.spec.conversion?.strategy === 'Webhook';
      await this.#expect({ path, headers: { accept: table } }, isConverted ? undefined : [200], one);
      for (const [index, spec] of one.specs.entries()) {
        const metadata = { name: `o${index}` };
        const body = { apiVersion: groupVersion, kind: names.kind, metadata, spec };
        await this.#expect({ method: 'POST', path, body }, undefined, one);
        const headers = { 'content-type': 'application/apply-patch+yaml' };
        const applied = `${path}/o${index}?fieldManager=e2e&force=true`;
        await this.#expect({ method: 'PATCH', path: applied, headers, body }, undefined, one);
      }
      await this.#expect({ path, headers: { accept: table } }, undefined, one);
    }
  }

  async #isServed(one: HostileDefinition, path: string): Promise<boolean> {
    try {
      await eventually(async () => {
        const { status } = await this.#workspace.send({ path });
        if (status === 404) throw new Error(`${path} is not served`);
      });
      return true;
    } catch (error) {
      const { json } = await this.#workspace.send({ path: `${definitions}/${one.definition.metadata.name}` });
      this.#fail(one, `${(error as Error).message}: ${JSON.stringify(json['status'])}`);
      return false;
    }
  }

  async #checkNeighbours(batch: readonly HostileDefinition[]): Promise<void> {
    const groupVersions = batch.flatMap(({ definition: { spec } }) =>
      spec.versions.filter(({ served }) => served).map(({ name }) => `${spec.group}/${name}`),
    );
    const { path, object } = this.#neighbour;
    const requests: SentRequest[] = [
      { path: '/apis' },
      { path: '/apis', headers: { accept: aggregated } },
      { path: '/api', headers: { accept: aggregated } },
      { path: '/api/v1' },
      { path: '/openapi/v2' },
      { path: '/openapi/v2', headers: { accept: protobuf2 } },
      { path: '/openapi/v3' },
      { path: '/openapi/v3/api/v1' },
      ...groupVersions.map((one) => ({ path: `/apis/${one}` })),
      ...groupVersions.map((one) => ({ path: `/openapi/v3/apis/${one}` })),
      ...groupVersions.map((one) => ({ path: `/openapi/v3/apis/${one}`, headers: { accept: protobuf3 } })),
    ];
    await mapConcurrently(requests, concurrency, (request) => this.#expect(request, [200], batch));
    const name = `neighbour-${this.created}`;
    await this.#expect({ method: 'POST', path, body: object(name) }, [201], batch);
    await this.#expect({ path: `${path}/${name}`, headers: { accept: table } }, [200], batch);
    await this.#expect({ path, headers: { accept: table } }, [200], batch);
    const headers = { 'content-type': 'application/merge-patch+json' };
    const body = { metadata: { labels: { a: 'b' } } };
    await this.#expect({ method: 'PATCH', path: `${path}/${name}`, headers, body }, [200], batch);
    await this.#expect({ method: 'DELETE', path: `${path}/${name}` }, [200], batch);
  }

  /**
   * Undefined `statuses`: objects of the definition may be refused, and some errors of apply are a Status with code 500, as in
   * Kubernetes. A bug of the server has a text of its own.
   */
  async #expect(
    request: SentRequest,
    statuses: readonly number[] | undefined,
    of: HostileDefinition | readonly HostileDefinition[],
  ): Promise<Response | undefined> {
    const response = await this.#workspace.send(request);
    if (statuses?.includes(response.status) !== false && !response.text.includes('caused apiserver to panic'))
      return response;
    this.#fail(of, `${request.method ?? 'GET'} ${request.path}: ${response.status} ${response.text.slice(0, 400)}`);
    return undefined;
  }

  #fail(of: HostileDefinition | readonly HostileDefinition[], text: string): void {
    const named = (Array.isArray(of) ? of : [of]) as readonly HostileDefinition[];
    const shown = named.length === 1 ? JSON.stringify(named[0]).slice(0, 3_000) : `a batch of ${named.length}`;
    this.failures.push(`${text} (${shown})`);
  }
}
