// The same for workers that may not import the engine later.
import './kinglet/here/index.js';
import './in-worker.js';
