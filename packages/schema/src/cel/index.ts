export { CelCostError, CelError, OutOfPatience } from './cel-error.ts';
export {
  authorizerType,
  CelAuthorizerValue,
  resourceCheckType,
  type AuthorizationDecision,
  type AuthorizationQuery,
  type CelAuthorizer,
} from './authorizer-library.ts';
export { jsonPatchLibrary } from './json-patch-library.ts';
export { jsonOfValue, jsonPatchOfValue } from './json-value.ts';
export { checkObjectTypeName, jsonPatchType, objectType, patchStructs } from './patch-types.ts';
export { CelIssues, type Issue } from './issues.ts';
export { CelEnvironment, type EnvironmentOptions } from './environment.ts';
export type { Constant } from './constant.ts';
export { declare, functionTable, type CelFunction, type FunctionTable, type Overload } from './function-declaration.ts';
export { kubernetesEnvironment, kubernetesFunctions } from './kubernetes-environment.ts';
export {
  compileExpression,
  perCallLimit,
  CelProgram,
  type CelOutcome,
  type CompileExpressionOptions,
} from './program.ts';
export { estimateCost } from './cost-estimate.ts';
export { compileRules } from './rule-validator.ts';
export { isLongExpression } from './long-expression.ts';
export { validateDefinitionRules } from './definition-rules.ts';
export { schemaType, type SchemaType } from './schema-type.ts';
export { plainValue, valueOf } from './schema-value.ts';
export { typeText, type CelType } from './types.ts';
export * as celTypes from './types.ts';
export * from './values.ts';
