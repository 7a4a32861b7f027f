export * from './compiled-schema.ts';
export {
  compileSchema,
  createSchemaCompiler,
  schemaHash,
  type CompileOptions,
  type RuleValidator,
} from './compile-schema.ts';
export { SchemaCache, type SchemaCacheOptions } from './schema-cache.ts';
export type { ResolveReference, SchemaCompilerOptions } from './schema-compiler.ts';
export {
  unrecognizedFormats,
  validateDefinitionSchema,
  type DefinitionSchemaRules,
} from './definition/validate-definition-schema.ts';
export { structuralProblem } from './definition/structural-problem.ts';
export { rememberEmptyMember, wasEmpty } from './empty-members.ts';
export { internalSchema, shownSchema } from './definition/internal-schema.ts';
export { validateSelectableFields } from './definition/validate-selectable-fields.ts';
export {
  componentName,
  type OpenAPIDefinitions,
  type OpenAPIResource,
  type OpenAPISubresource,
} from './openapi/openapi-resource.ts';
export { addGroupPath } from './openapi/resource-paths.ts';
export { buildOpenAPIv3, componentsOf, openAPIDocument } from './openapi/openapi-v3.ts';
export { PathTexts, type EncodedPaths } from './openapi/path-texts.ts';
export { buildOpenAPIv2 } from './openapi/openapi-v2.ts';
export { metadataProblem } from './coerce-embedded.ts';
export { compileAtOnce, NotCompiled, type MayCompile } from './compilation.ts';
export { isLongPattern, regexOf } from './regex.ts';
export { minInlineSteps, WorkBudget, WorkBudgetExceeded, type IsOverdue } from './work-budget.ts';
export * from './cel/index.ts';
