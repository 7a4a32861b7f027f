/** Loaded before every suite of the jest project `sharded`: its control planes are sharded ones. */
process.env['MULTIPLANE_E2E_TOPOLOGY'] = 'sharded';
