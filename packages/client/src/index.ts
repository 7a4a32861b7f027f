export * from './lister.ts';
export * from './object-client.ts';
