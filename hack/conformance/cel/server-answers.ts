import { setTimeout as sleep } from 'node:timers/promises';
import type { Json, JsonObject } from '../../../packages/apimachinery/src/index.ts';
import type { Answer as Response, ScenarioTransport } from '../../../e2e/conformance/transport.ts';

/** What a server makes of an expression: why it refuses it, or the error or the type and the text of its value. */
export type ServerAnswer = string;

export interface Fixture {
  readonly schema: JsonObject;
  readonly self: Json;
  readonly oldSelf: Json;
}

const extensions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const admission = '/apis/admissionregistration.k8s.io/v1';
const namespace = 'default';
/** Marks the place of an expression in a text that names several. */
const mark = (index: number): string => `#${String(index).padStart(2, '0')}#`;

/**
 * Evaluates expressions on a server. A rule of a definition compares the value with what it never is, so that the server
 * answers with the message, which prints the value; an error of the evaluation is in the answer itself. Expressions about
 * `object` alone are evaluated by a validating policy whose warnings are such messages.
 */
export class ServerAnswers {
  readonly #transport: ScenarioTransport;
  readonly #fixture: Fixture;
  constructor(transport: ScenarioTransport, fixture: Fixture) {
    this.#transport = transport;
    this.#fixture = fixture;
  }

  /** In rules of a definition that is made, used once and deleted. */
  async ofRules(expressions: readonly string[], run: string): Promise<ServerAnswer[]> {
    const answers: ServerAnswer[] = expressions.map(() => '');
    const group = `${run}.cel.example.com`;
    const definition = (indices: readonly number[]): JsonObject =>
      definitionOf(group, {
        ...this.#fixture.schema,
        'x-kubernetes-validations': indices.map((index) => ruleOf(expressions[index] as string, index)),
      });
    let accepted = [...answers.keys()];
    // What does not compile is told of each rule, but what costs too much in sum is told of all.
    const refused = await this.#send('POST', `${extensions}?dryRun=All`, definition(accepted));
    for (const { field, message } of causesOf(refused)) {
      const at = /x-kubernetes-validations\[(\d+)\]/.exec(field)?.[1];
      if (at !== undefined) answers[Number(at)] ||= `refused: ${withoutValue(message)}`;
    }
    accepted = accepted.filter((index) => answers[index] === '');
    if (accepted.length === 0) return answers;
    const created = await this.#send('POST', extensions, definition(accepted));
    if (created.status !== 201) {
      for (const index of accepted) answers[index] = `refused: ${messageOf(created)}`;
      return answers;
    }
    const object = { apiVersion: `${group}/v1`, kind: 'Value', metadata: { name: 'v' }, spec: this.#fixture.self };
    const evaluated = await this.#until(
      () => this.#send('POST', `/apis/${group}/v1/namespaces/${namespace}/values?dryRun=All`, object),
      ({ status, text }) => status === 422 && text.includes('#'),
    );
    const message = messageOf(evaluated);
    for (const index of accepted) answers[index] = between(message, /, (?=spec: )/, index);
    await this.#send('DELETE', `${extensions}/values.${group}`);
    return answers;
  }

  /** In validations of a policy, with the fixture as the data of no particular type. */
  async ofPolicies(expressions: readonly string[], run: string): Promise<ServerAnswer[]> {
    const answers: ServerAnswer[] = expressions.map(() => '');
    const policy = (indices: readonly number[]): JsonObject => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: `cel-${run}` },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          objectSelector: { matchLabels: { run } },
          resourceRules: [
            { apiGroups: ['cel.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['objects'] },
          ],
        },
        validations: indices.map((index) => validationOf(inSpec(expressions[index] as string), index)),
      },
    });
    const refused = await this.#send(
      'POST',
      `${admission}/validatingadmissionpolicies?dryRun=All`,
      policy([...answers.keys()]),
    );
    for (const { field, message } of causesOf(refused)) {
      const at = /validations\[(\d+)\]/.exec(field)?.[1];
      if (at !== undefined) answers[Number(at)] ||= `refused: ${withoutValue(message)}`;
    }
    const accepted = [...answers.keys()].filter((index) => answers[index] === '');
    if (accepted.length === 0) return answers;
    const created = await this.#send('POST', `${admission}/validatingadmissionpolicies`, policy(accepted));
    if (created.status !== 201) throw new Error(`failed to create a policy: ${created.text.slice(0, 500)}`);
    await this.#send('POST', `${admission}/validatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: `cel-${run}` },
      spec: { policyName: `cel-${run}`, validationActions: ['Warn'] },
    });
    const object = {
      apiVersion: 'cel.example.com/v1',
      kind: 'Object',
      metadata: { name: `v-${run}`, labels: { run } },
      spec: this.#fixture.self,
    };
    const evaluated = await this.#until(
      () => this.#send('POST', `/apis/cel.example.com/v1/namespaces/${namespace}/objects?dryRun=All`, object),
      ({ headers }) => headers['warning'] !== undefined,
    );
    const warnings = (evaluated.headers['warning'] ?? '').replaceAll(/\\(["\\])/g, '$1');
    for (const index of accepted) answers[index] = between(warnings, /, (?=299 - )/, index);
    for (const kind of ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'])
      await this.#send('DELETE', `${admission}/${kind}/cel-${run}`);
    return answers;
  }

  /** As the value that a JSON patch of a mutating policy adds. */
  ofJSONPatches(expressions: readonly string[], run: string): Promise<ServerAnswer[]> {
    return this.#ofMutations(expressions, `${run}-j`, (expression) => ({
      patchType: 'JSONPatch',
      jsonPatch: { expression: `[JSONPatch{op: "add", path: "/spec/result", value: ${expression}}]` },
    }));
  }

  /** As a field of the object that a mutating policy applies. */
  ofApplyConfigurations(expressions: readonly string[], run: string): Promise<ServerAnswer[]> {
    return this.#ofMutations(expressions, `${run}-a`, (expression) => ({
      patchType: 'ApplyConfiguration',
      applyConfiguration: { expression: `Object{spec: Object.spec{result: ${expression}}}` },
    }));
  }

  /** In a policy for each, since an error of one mutation fails the request. */
  async #ofMutations(
    expressions: readonly string[],
    run: string,
    mutationOf: (expression: string) => JsonObject,
  ): Promise<ServerAnswer[]> {
    return Promise.all(
      expressions.map((expression, index) =>
        this.#ofMutation(mutationOf(closed(inSpec(expression))), `${run}-${index}`),
      ),
    );
  }

  async #ofMutation(mutation: JsonObject, run: string): Promise<ServerAnswer> {
    const name = `cel-${run}`;
    const refused = await this.#send('POST', `${admission}/mutatingadmissionpolicies`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        reinvocationPolicy: 'Never',
        matchConstraints: {
          objectSelector: { matchLabels: { run } },
          resourceRules: [
            { apiGroups: ['cel.example.com'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['objects'] },
          ],
        },
        mutations: [seen, mutation],
      },
    });
    if (refused.status !== 201) return `refused: ${withoutExpression(messageOf(refused), name)}`;
    await this.#send('POST', `${admission}/mutatingadmissionpolicybindings`, {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'MutatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name },
    });
    const object = {
      apiVersion: 'cel.example.com/v1',
      kind: 'Object',
      metadata: { name: `v-${run}`, labels: { run } },
      spec: this.#fixture.self,
    };
    const evaluated = await this.#until(
      () => this.#send('POST', `/apis/cel.example.com/v1/namespaces/${namespace}/objects?dryRun=All`, object),
      ({ status, text }) => status !== 201 || text.includes(seenMark),
    );
    for (const kind of ['mutatingadmissionpolicies', 'mutatingadmissionpolicybindings'])
      await this.#send('DELETE', `${admission}/${kind}/${name}`);
    if (evaluated.status !== 201) return `error: ${evaluated.status} ${withoutExpression(messageOf(evaluated), name)}`;
    const { spec } = JSON.parse(evaluated.text) as { spec: JsonObject };
    return `value ${JSON.stringify(sorted(spec['result']))}`;
  }

  /** Makes the resource whose objects policies look at. */
  async prepare(): Promise<void> {
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    await this.#send('POST', extensions, definitionOf('cel.example.com', schema, 'Object'));
    await this.#until(
      () => this.#send('GET', '/apis/cel.example.com/v1/objects'),
      ({ status }) => status === 200,
    );
  }

  /** A server may limit what expressions of one workspace cost in a second. */
  async #send(method: string, path: string, body?: JsonObject): Promise<Response> {
    for (let attempt = 0; ; attempt++) {
      const response = await this.#transport.send({ method, path, ...(body === undefined ? {} : { body }) });
      if (response.status !== 429 || attempt === 20) return response;
      await sleep(Number(response.headers['retry-after'] ?? 1) * 1000);
    }
  }

  async #until(act: () => Promise<Response>, done: (response: Response) => boolean): Promise<Response> {
    let response = await act();
    for (let attempt = 0; attempt < 60 && !done(response); attempt++) {
      await sleep(250);
      response = await act();
    }
    return response;
  }
}

/** The fixture is a part of an object. */
const inSpec = (expression: string): string => expression.replaceAll(/(?<![\w.'"])object\b/g, 'object.spec');
/** A comment must not swallow what follows; a line break is no part of a warning. */
const closed = (expression: string): string => (expression.includes('//') ? `${expression}\n` : expression);
/** Concatenation of texts of unknown length costs more than a message may. */
const messageFor = (expression: string, index: number): string =>
  `'${mark(index)}value %s %s${mark(index)}'.format([type(${closed(expression)}), ${closed(expression)}])`;
const testFor = (expression: string, index: number): string =>
  `[dyn(${closed(expression)})].size() == 0 // ${mark(index)}`;

const ruleOf = (expression: string, index: number): JsonObject => ({
  rule: testFor(expression, index),
  message: mark(index),
  messageExpression: messageFor(expression, index),
});

const validationOf = (expression: string, index: number): JsonObject => ({
  expression: testFor(expression, index),
  message: mark(index),
  messageExpression: messageFor(expression, index),
});

/** Shows that a server knows a policy. */
const seenMark = 'cel.example.com/seen';
const seen = {
  patchType: 'JSONPatch',
  jsonPatch: { expression: `[JSONPatch{op: "add", path: "/metadata/annotations", value: {"${seenMark}": "true"}}]` },
};
/** Messages repeat the expression, and name the policy. */
const withoutExpression = (message: string, name: string): string =>
  message.replaceAll(name, 'NAME').replaceAll(/Invalid value: .*?: (?=compilation failed|estimated|must|cel)/gs, '');
/** Servers write members in different order. */
function sorted(value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) return value.map((item) => sorted(item) as Json);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item) as Json]),
  );
}

function definitionOf(group: string, spec: JsonObject, kind = 'Value'): JsonObject {
  const plural = `${kind.toLowerCase()}s`;
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
}

interface Cause {
  readonly field: string;
  readonly message: string;
}
function causesOf({ text }: Response): readonly Cause[] {
  const status = JSON.parse(text) as { details?: { causes?: readonly Cause[] } };
  return status.details?.causes ?? [];
}
const messageOf = ({ text }: Response): string => (JSON.parse(text) as { message?: string }).message ?? text;
/** Messages about rules begin with the whole rule. */
const withoutValue = (message: string): string =>
  message.replace(
    /^Invalid value: .*?: (?=compilation failed|estimated|messageExpression|program|cel expression)/s,
    '',
  );

/** What a text that names several expressions says about one, in one of its parts. */
function between(text: string, separator: RegExp, index: number): string {
  const own = mark(index);
  const value = text.split(own);
  if (value.length >= 3 && value[1]?.startsWith('value ') === true) return value[1];
  const part = text.split(separator).find((each) => each.includes(own)) ?? 'nothing';
  return `error: ${part.replace(/^.*?Invalid value: (?:"[^"]*": )?|^.*? resulted in error: /s, '').replace(/"$/, '')}`;
}
