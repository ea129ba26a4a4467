# Compiles the files of a folder together. Most of the time that a file takes goes into headers and
# templates, which its neighbours need, too. A folder with more than `most_bytes` of source code is
# divided into groups of about the same size, so that several processors have something to do and a
# change does not compile too much. Sources with relative paths are compiled one by one, and so are
# those for Windows, whose headers define macros with common names.
function(compile_in_groups target most_bytes)
  if(NOT KINGLET_UNITY)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "^/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "_windows\\.cpp$")
  set(folders)
  foreach(source IN LISTS sources)
    file(RELATIVE_PATH folder ${CMAKE_SOURCE_DIR} ${source}/..)
    string(REPLACE / - folder ${folder})
    list(APPEND folders ${folder})
    file(SIZE ${source} size)
    math(EXPR bytes_${folder} "0${bytes_${folder}} + ${size}")
  endforeach()
  foreach(source folder IN ZIP_LISTS sources folders)
    math(EXPR n_groups "${bytes_${folder}} / ${most_bytes} + 1")
    math(EXPR group "0${bytes_before_${folder}} * ${n_groups} / ${bytes_${folder}}")
    file(SIZE ${source} size)
    math(EXPR bytes_before_${folder} "0${bytes_before_${folder}} + ${size}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}-${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
