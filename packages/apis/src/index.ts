export * from './resource-definition.ts';
export * from './table-convertor.ts';
