import {render} from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import {Shell} from './shell.tsx';

render(<Shell />, document.getElementById('app')!);
