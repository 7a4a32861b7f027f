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
