import {render} from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style/base.css';
import './style/controls.css';
import './style/explore.css';
import './style/pages.css';
import {Shell} from './shell.tsx';

render(<Shell />, document.getElementById('app')!);
