// Apart from the rest, as only conversations need it: packaging bundles this file.
export { Template } from '@huggingface/jinja';
