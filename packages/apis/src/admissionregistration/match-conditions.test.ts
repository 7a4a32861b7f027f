import { expect, test } from '@jest/globals';
import { FieldPath, fieldErrorText } from '@multiplane/apimachinery';
import { CelEnvironment, kubernetesFunctions } from '@multiplane/schema';
import { AdmissionExpression } from './admission-expressions.ts';
import { expressionErrors } from './match-conditions.ts';

const textsOf = (source: string): string[] => {
  const environment = new CelEnvironment({ functions: kubernetesFunctions });
  const expression = new AdmissionExpression(source, () => environment, ['bool']);
  return expressionErrors(expression, FieldPath.of('spec', 'expression')).map((error) => fieldErrorText(error));
};

test.each([
  ["int('1') == 1", []],
  // Kubernetes makes the program with the policy: a constant that cannot be made is its internal error.
  [
    "int('x') == 1",
    ["spec.expression: Internal error: program instantiation failed: type conversion error from 'string' to 'int'"],
  ],
  ['uint(-1) == 1u', ['spec.expression: Internal error: program instantiation failed: unsigned integer overflow']],
])('%s', (source, texts) => {
  expect(textsOf(source)).toEqual(texts);
});
