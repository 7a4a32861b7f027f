import { describe, expect, test } from '@jest/globals';
import { fieldErrorText, FieldPath, type JsonObject } from '@multiplane/apimachinery';
import { validateDefinitionRules } from './definition-rules.ts';

const complaints = (spec: JsonObject): string[] =>
  validateDefinitionRules({ type: 'object', properties: { spec } }, FieldPath.of('s')).map(fieldErrorText);
const rule = (source: string, more: JsonObject = {}): JsonObject => ({
  'x-kubernetes-validations': [{ rule: source, ...more }],
});
const text: JsonObject = { type: 'string' };

describe('rules of definitions', () => {
  test('a rule must compile to a bool, its message to a string', () => {
    const struct =
      '{"Rule":"self \\u003e 0","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}';
    expect(complaints({ ...text, ...rule('self > 0') })).toEqual([
      `s.properties[spec].x-kubernetes-validations[0].rule: Invalid value: ${struct}: compilation failed: ERROR: <input>:1:6: found no matching overload for '_>_' applied to '(string, int)'\n | self > 0\n | .....^`,
    ]);
    expect(complaints({ type: 'integer', ...rule('self') })[0]).toMatch(/cel expression must evaluate to a bool$/);
    expect(complaints({ type: 'integer', ...rule('self > 0', { messageExpression: 'self' }) })[0]).toMatch(
      /messageExpression must evaluate to a string$/,
    );
    expect(complaints({ type: 'integer', ...rule('self > 0', { messageExpression: 'x' }) })[0]).toMatch(
      /messageExpression compilation failed: ERROR/,
    );
  });

  test.each([
    ["int('x') == 1", "type conversion error from 'string' to 'int'"],
    ["self == string(b'\\xff')", 'invalid UTF-8 in bytes, cannot convert to string'],
    ["self.find('[') == ''", 'error parsing regexp: missing closing ]: `[`'],
    ["self.findAll('(', 1).size() == 1", 'error parsing regexp: missing closing ): `(`'],
  ])('a constant that no evaluation could use: %s', (source, why) => {
    expect(complaints({ ...text, ...rule(source) })[0]).toMatch(`program instantiation failed: ${why}`);
    expect(complaints({ ...text, ...rule('true', { messageExpression: `${source} ? 'a' : 'b'` }) })[0]).toMatch(
      `messageExpression instantiation failed: ${why}`,
    );
  });

  test('old values are seen where they can be found', () => {
    const items = { type: 'array', maxItems: 2, items: { type: 'integer', ...rule('self >= oldSelf') } };
    expect(complaints(items)).toEqual([
      's.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self >= oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[spec]',
    ]);
    expect(complaints({ type: 'integer', ...rule('self > 0', { optionalOldSelf: true }) })).toEqual([
      's.properties[spec].x-kubernetes-validations[0].optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule',
    ]);
  });

  test('what a rule may cost is bounded by what the schema allows', () => {
    const list = (more: JsonObject): JsonObject => ({
      type: 'array',
      items: text,
      ...rule('self.all(a, self.all(b, a == b))'),
      ...more,
    });
    expect(complaints(list({}))).toHaveLength(3);
    expect(complaints(list({}))[0]).toContain(
      'Forbidden: estimated rule cost exceeds budget by factor of more than 100x (try simplifying the rule',
    );
    expect(complaints(list({ maxItems: 10, items: { ...text, maxLength: 10 } }))).toEqual([]);
  });

  test('preserved fields are not seen', () => {
    const open: JsonObject = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...rule('self.x == 1') };
    expect(complaints(open)[0]).toContain("undefined field 'x'");
  });
});
