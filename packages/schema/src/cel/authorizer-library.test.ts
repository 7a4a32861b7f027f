import { expect, test } from '@jest/globals';
import { authorizerType, CelAuthorizerValue, type AuthorizationQuery } from './authorizer-library.ts';
import { CelEnvironment } from './environment.ts';
import { functionTable } from './function-declaration.ts';
import { jsonPatchLibrary } from './json-patch-library.ts';
import { kubernetesEnvironment } from './kubernetes-environment.ts';
import { compileExpression } from './program.ts';
import { standardLibrary } from './standard-library.ts';

function ask(expression: string): { asked: AuthorizationQuery[]; result: unknown } {
  const asked: AuthorizationQuery[] = [];
  const authorizer = new CelAuthorizerValue({
    check: (query) => {
      asked.push(query);
      return { allowed: query.verb === 'get', reason: 'because' };
    },
  });
  const outcome = compileExpression(expression, kubernetesEnvironment({ authorizer: authorizerType })).evaluate({
    authorizer,
  });
  return { asked, result: outcome.error?.message ?? outcome.value };
}

test('an expression asks what the user may do', () => {
  const pods = "authorizer.group('').resource('pods').subresource('log').namespace('a').name('b')";
  expect(ask(`${pods}.check('get').allowed()`)).toEqual({
    asked: [{ group: '', resource: 'pods', subresource: 'log', namespace: 'a', name: 'b', verb: 'get' }],
    result: true,
  });
  expect(ask("authorizer.path('/healthz').check('post').reason()")).toEqual({
    asked: [{ path: '/healthz', verb: 'post' }],
    result: 'because',
  });
  expect(ask("authorizer.serviceAccount('ns', 'sa').path('/x').check('get').errored()").asked).toEqual([
    { serviceAccount: { namespace: 'ns', name: 'sa' }, path: '/x', verb: 'get' },
  ]);
});

test('questions that make no sense, and too many of them', () => {
  expect(ask("authorizer.path(' ').check('get').allowed()").result).toBe('path must not be empty');
  expect(ask("authorizer.serviceAccount('ns', 'A').path('/').check('get').allowed()").result).toBe(
    'Invalid service account name',
  );
  const check = "authorizer.path('/x').check('get').allowed()";
  expect(ask(`${check} && ${check}`).result).toBe(true);
  expect(ask(`${check} && ${check} && ${check}`).result).toBe('operation cancelled: actual cost limit exceeded');
});

test('keys become parts of a JSON pointer', () => {
  const environment = new CelEnvironment({ functions: functionTable(standardLibrary, jsonPatchLibrary) });
  expect(compileExpression("jsonpatch.escapeKey('a/b~c')", environment).evaluate({}).value).toBe('a~1b~0c');
});
