import { describePage } from '../harness/documentation.ts';

describePage('examples/cached-resources/README.md');
