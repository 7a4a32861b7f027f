export * from './interface.ts';
export * from './errors.ts';
export * from './keys.ts';
export * from './watch-cache-interface.ts';
