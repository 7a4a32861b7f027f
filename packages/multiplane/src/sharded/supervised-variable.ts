/** Set for servers that `start --shards` starts. Others may have a channel to who started them, which says nothing about that. */
export const supervisedVariable = 'MULTIPLANE_SUPERVISED';
