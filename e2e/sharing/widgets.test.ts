import { describePage } from '../harness/documentation.ts';

describePage('examples/widgets/README.md');
