# The headers of the nginx this module is for: target nginx_headers.
#
# Debian's nginx-dev carries the source headers, `configure` and the flags the distribution's binary was configured with (conf_flags), but not the
# generated ngx_auto_config.h. So its own configure runs once, at configure time, with everything it writes in the build folder. The same flags give the
# same module signature as the binary's. Another source tree has no such flags: then NGINX_BINARY names the nginx the module is for, which tells its
# own by `nginx -V`. Headers of another version would load and misread structures, so the two must agree.
set(nginx_objs ${CMAKE_BINARY_DIR}/nginx)
set(nginx_stamp ${nginx_objs}/configured)
set(NGINX_BINARY "" CACHE FILEPATH "the nginx that a module built against another source tree than Debian's is for")
set(nginx_configure configure)
if(NOT EXISTS ${NGINX_SOURCE}/configure AND EXISTS ${NGINX_SOURCE}/auto/configure)
  set(nginx_configure auto/configure)  # a checkout of nginx's repository
endif()
foreach(needed ${nginx_configure} src/core/nginx.h)
  if(NOT EXISTS ${NGINX_SOURCE}/${needed})
    message(FATAL_ERROR "${NGINX_SOURCE}/${needed} is missing: install nginx-dev, or set NGINX_SOURCE to an nginx source tree and NGINX_BINARY to the nginx built from it")
  endif()
endforeach()
if(EXISTS ${NGINX_SOURCE}/conf_flags)
  set(nginx_flags "source ./conf_flags; set -- \"\${NGX_CONF_FLAGS[@]}\"")
  file(SHA256 ${NGINX_SOURCE}/conf_flags nginx_flags_hash)
elseif(NGINX_BINARY)
  execute_process(COMMAND ${NGINX_BINARY} -V ERROR_VARIABLE nginx_says RESULT_VARIABLE nginx_failed OUTPUT_QUIET)
  if(nginx_failed)
    message(FATAL_ERROR "${NGINX_BINARY} -V fails: ${nginx_failed} ${nginx_says}")
  endif()
  file(STRINGS ${NGINX_SOURCE}/src/core/nginx.h nginx_version REGEX "define NGINX_VERSION ")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" nginx_version "${nginx_version}")
  if(NOT nginx_says MATCHES "nginx version: [^/]*/([0-9.]+)" OR NOT CMAKE_MATCH_1 STREQUAL nginx_version)
    message(FATAL_ERROR "NGINX_SOURCE is nginx ${nginx_version}, but ${NGINX_BINARY} -V says ${CMAKE_MATCH_1}: a module fits the very version it is built against")
  endif()
  # As configured, without the modules that were added: their sources are not here, and they do not enter the signature.
  string(REGEX REPLACE ".*configure arguments:" "" nginx_arguments "${nginx_says}")
  string(REGEX REPLACE "--add-(dynamic-)?module=[^ \n]*" "" nginx_arguments "${nginx_arguments}")
  string(STRIP "${nginx_arguments}" nginx_arguments)
  set(nginx_flags "set -- ${nginx_arguments}")
  string(SHA256 nginx_flags_hash "${nginx_arguments}")
else()
  message(FATAL_ERROR "${NGINX_SOURCE} is not Debian's nginx-dev: set NGINX_BINARY to the nginx that the module is for")
endif()

# Another tree, other flags or another compiler: configure again.
file(SHA256 ${NGINX_SOURCE}/src/core/nginx.h nginx_version_hash)
set(nginx_identity "${NGINX_SOURCE} ${nginx_flags_hash} ${nginx_version_hash} ${CMAKE_C_COMPILER} ${CMAKE_C_COMPILER_VERSION}")
set(nginx_done "")
if(EXISTS ${nginx_stamp})
  file(READ ${nginx_stamp} nginx_done)
endif()
if(NOT nginx_done STREQUAL nginx_identity)
  message(STATUS "Configuring the nginx headers of ${NGINX_SOURCE}")
  file(REMOVE_RECURSE ${nginx_objs})
  file(MAKE_DIRECTORY ${nginx_objs})
  file(WRITE ${nginx_objs}/configure.sh "set -e; ${nginx_flags}; exec ./${nginx_configure} \"$@\" --with-cc='${CMAKE_C_COMPILER}' --builddir='${nginx_objs}'\n")
  execute_process(
    COMMAND bash ${nginx_objs}/configure.sh
    WORKING_DIRECTORY ${NGINX_SOURCE}
    OUTPUT_FILE ${nginx_objs}/configure.log
    ERROR_FILE ${nginx_objs}/configure.log
    RESULT_VARIABLE nginx_failed)
  if(nginx_failed OR NOT EXISTS ${nginx_objs}/ngx_auto_config.h)
    message(FATAL_ERROR "nginx's configure failed, see ${nginx_objs}/configure.log and ${nginx_objs}/autoconf.err")
  endif()
  file(WRITE ${nginx_stamp} "${nginx_identity}")
endif()

add_library(nginx_headers INTERFACE)
target_include_directories(nginx_headers SYSTEM INTERFACE ${nginx_objs})
foreach(folder core event event/modules os/unix http http/modules http/v2)
  target_include_directories(nginx_headers SYSTEM INTERFACE ${NGINX_SOURCE}/src/${folder})
endforeach()
