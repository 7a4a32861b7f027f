/** Every reconciler, one folder per API group. */
export {};
