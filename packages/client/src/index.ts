export * from './lister.ts';
export * from './object-client.ts';
export * from './kubeconfig.ts';
export * from './rest-transport.ts';
export * from './rest-client.ts';
export * from './work-queue.ts';
