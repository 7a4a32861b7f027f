export * from './json.ts';
export * from './object.ts';
export * from './group-version.ts';
export * from './logical-cluster.ts';
export * from './field-error.ts';
export * from './status-error.ts';
export * from './user-info.ts';
